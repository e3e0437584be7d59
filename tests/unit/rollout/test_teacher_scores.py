"""A teacher's scores: the texts that are sent, the calls that get the scores, and responses that do not fit."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hone.api import inference_pb2
from hone.trajectory.records import Call, Scored
from services.rollout.calls import TeacherScorer
from services.rollout.claims import Claim
from services.rollout.retry import Unavailable
from tests.support.rollout.groups import claim

TOP_K = 2
TEACHER = {"teacher": {"model_id": "mod_t", "top_k": TOP_K}}
VERSIONS = {"teacher": "ver_t"}


class Engine:
    """Scores each id with -place in the whole text, and names the ids place and place + 1 as the likeliest."""

    id = "engine-0"

    def __init__(self) -> None:
        self.asked: list[inference_pb2.ScoreRequest] = []
        self.failures = 0
        self.spoiled: Callable[[inference_pb2.ScoreResponse], object] = id

    async def choose(self, model_id: str) -> "Engine":
        assert model_id == "mod_t"
        return self

    async def score(self, request: inference_pb2.ScoreRequest) -> inference_pb2.ScoreResponse:
        self.asked.append(request)
        response = inference_pb2.ScoreResponse(version_id=request.version_id, items=map(self._item, request.items))
        self.spoiled(response)
        return response

    def _item(self, item: inference_pb2.ScoreItem) -> inference_pb2.ScoredItem:
        places = range(len(item.context_ids), len(item.context_ids) + len(item.ids))
        return inference_pb2.ScoredItem(
            logp=[-float(place) for place in places], entropy=[0.0] * len(places),
            top_ids=[id for place in places for id in (place, place + 1)],
            top_logp=[value for place in places for value in (-0.25, -float(place))])


class Patient:
    """Asks once, and checks who is asked."""

    async def until_answered(self, asked: Claim, source: str, ask: Callable[[], Awaitable[Any]]) -> Any:
        assert (asked.id, source) == (1, "the teacher")
        return await ask()


def call(prompt_ids: list[int], completion_ids: list[int], role: str = "policy") -> Call:
    return Call(0, prompt_ids, completion_ids, [], "stop", [], "", [role == "policy"] * len(completion_ids), role=role)


def word(first: int, count: int) -> list[Scored]:
    places = range(first, first + count)
    return [Scored("teacher", "ver_t", [-float(place) for place in places],
                   [id for place in places for id in (place, place + 1)],
                   [value for place in places for value in (-0.25, -float(place))])]


async def scored(engine: Engine, *samples: list[Call], roles: dict[str, Any] = TEACHER,
                 versions: dict[str, str] = VERSIONS) -> list[list[Call]]:
    group = claim(roles=roles, role_versions=versions)
    return await TeacherScorer(engine, Patient()).scored(group, samples)  # type: ignore[arg-type]


async def test_calls_that_go_on_are_asked_about_as_one_text_and_each_gets_its_own_tokens() -> None:
    engine = Engine()
    turns = [call([1, 2], [3, 4]), call([1, 2, 3, 4, 5], [6]), call([1, 2, 3, 4, 5, 6, 7, 8], [9, 9])]
    [found] = await scored(engine, turns)
    [request] = engine.asked
    assert (request.model_id, request.version_id, request.temperature, request.top_k) == ("mod_t", "ver_t", 1.0, TOP_K)
    assert [(list(item.context_ids), list(item.ids)) for item in request.items] == [
        ([1, 2], [3, 4, 5, 6, 7, 8, 9, 9])]
    assert [one.scored for one in found] == [word(2, 2), word(5, 1), word(8, 2)]


async def test_a_rewritten_prompt_begins_a_text_and_others_words_are_not_judged() -> None:
    engine = Engine()
    calls = [call([1], [2]), call([7, 7, 7], [8, 8], role="user"), call([1, 2, 3], [4]), call([5], [6, 6])]
    [found] = await scored(engine, calls)
    assert [(list(item.context_ids), list(item.ids)) for item in engine.asked[0].items] == [
        ([1], [2, 3, 4]), ([5], [6, 6])]
    assert [one.scored for one in found] == [word(1, 1), [], word(3, 1), word(1, 2)]


async def test_a_group_is_asked_about_at_once() -> None:
    engine = Engine()
    found = await scored(engine, [call([1], [2])], [call([1], [3, 3])], [])
    assert [[one.scored for one in calls] for calls in found] == [[word(1, 1)], [word(1, 2)], []]
    assert len(engine.asked) == 1


async def test_without_a_teacher_nobody_is_asked() -> None:
    engine, calls = Engine(), [call([1], [2])]
    assert await scored(engine, calls, roles={}) == [calls]
    assert await scored(engine, [call([1], [2], role="user")])
    assert engine.asked == []


async def test_a_teacher_without_a_version_is_waited_for() -> None:
    with pytest.raises(Unavailable, match="mod_t has no version"):
        await scored(Engine(), [call([1], [2])], versions={})


@pytest.mark.parametrize(("spoiled", "words"), [
    (lambda response: response.items.pop(), "0 items, expected 1"),
    (lambda response: response.items[0].logp.pop(),
     r"\(1, 2, 4, 4\) scores, entropies and likeliest ids, expected 2 and 2 at each"),
    (lambda response: response.items[0].top_ids.append(1), r"\(2, 2, 5, 4\) scores"),
    (lambda response: response.items[0].top_logp.pop(), r"\(2, 2, 4, 3\) scores"),
    (lambda response: response.items[0].logp.__setitem__(0, float("nan")), "scores that are no numbers"),
    (lambda response: setattr(response, "version_id", "ver_x"), "for version ver_x, expected ver_t"),
])
async def test_an_answer_that_does_not_fit_is_asked_for_again_and_counts_against_its_engine(
    spoiled: Callable[[inference_pb2.ScoreResponse], object], words: str
) -> None:
    engine = Engine()
    engine.spoiled = spoiled
    with pytest.raises(Unavailable, match=f"engine engine-0 answers {words}"):
        await scored(engine, [call([1], [2, 3])])
    assert engine.failures == 1


async def test_a_token_of_probability_zero_is_scored_like_any_other() -> None:
    engine = Engine()
    engine.spoiled = lambda response: response.items[0].logp.__setitem__(0, float("-inf"))
    [[found]] = await scored(engine, [call([1], [2])])
    assert found.scored[0].logp == [float("-inf")]
