"""The model that a call goes to: the policy, or the one that the run names for the role."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hone.api import inference_pb2, trajectory_pb2
from hone.harnesses.seat import Ask, Heard, Seat
from hone.models import toy
from hone.text.tokenizer import Tokenizer
from hone.trajectory.records import Call, VersionSpan
from services.rollout.calls import CallRequest, Sampler
from services.rollout.claims import AnsweringModel, Claim
from tests.support.rollout.groups import claim

TOKENIZER = Tokenizer({name: data for name, data in toy.files().items() if name.endswith(".json")})
OTHERS = {"roles": {"user": {"model_id": "mod_user", "max_positions": 512}}, "role_versions": {"user": "ver_user"}}


class Engine:
    """An engine and its own finder: it answers 7 with the requested version, or with its newest."""

    id, build = "engine", "fake"

    def __init__(self) -> None:
        self.chosen: list[str] = []
        self.requests: list[inference_pb2.GenerateRequest] = []

    async def choose(self, model_id: str) -> "Engine":
        self.chosen.append(model_id)
        return self

    async def generate(self, request: inference_pb2.GenerateRequest) -> inference_pb2.GenerateResponse:
        self.requests.append(request)
        version = trajectory_pb2.VersionSpan(version_id=request.version_id or f"newest of {request.model_id}", tokens=2)
        return inference_pb2.GenerateResponse(completions=[trajectory_pb2.Completion(
            index=index, ids=[TOKENIZER.encode("7")[0], TOKENIZER.eos_id], logp_sample=[-1.0, -1.0], versions=[version],
            finish_reason=trajectory_pb2.FINISH_REASON_STOP) for index in range(request.n)])


class Kept:
    """A journal that keeps every call, and a retry that needs one attempt."""

    async def keep(self, _: Any, turns: Any) -> Any:
        return turns

    async def until_answered(self, _: Any, source: str, ask: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ARG002
        return await ask()


async def asked(group: Claim, role: str) -> tuple[Engine, Call]:
    engine = Engine()
    seat = Seat([], [], Heard([]), "sample")
    ask = Ask(seat, "1", [], "answer", role, [])
    request = CallRequest(group, TOKENIZER, ask, TOKENIZER.encode("s1="), group.order.sampling, 1, "0")
    call = await Sampler(engine, Kept(), Kept()).next_call(request, 0, [])  # type: ignore[arg-type]
    return engine, call


async def test_a_role_with_a_model_of_its_own_is_asked_of_that_and_its_version_is_on_record() -> None:
    engine, call = await asked(claim(**OTHERS, begun=3), "user")
    [request] = engine.requests
    assert engine.chosen == ["mod_user"]
    assert (request.model_id, request.version_id, request.min_version) == ("mod_user", "ver_user", 0)
    assert (call.role, call.text, call.versions) == ("user", "7", [VersionSpan("ver_user", 2)])
    assert call.train_mask == [False, False]


@pytest.mark.parametrize("role", ["policy", "expert"])
async def test_the_policy_answers_for_itself_and_for_a_role_without_one(role: str) -> None:
    engine, call = await asked(claim(**OTHERS, begun=3), role)
    [request] = engine.requests
    assert (request.model_id, request.version_id, request.min_version) == ("mod", "", 3)
    assert (engine.chosen, call.versions) == (["mod"], [VersionSpan("newest of mod", 2)])
    assert call.train_mask == [role == "policy"] * 2


@pytest.mark.parametrize(("include", "text"), [(True, "7"), (False, ""), (None, "")])
async def test_a_stop_text_that_is_included_is_in_the_text_and_trained(include: bool | None, text: str) -> None:
    engine, call = await asked(claim(sampling={"max_tokens": 4, "stop": ["7"], "include_stop": include}), "policy")
    assert engine.requests[0].sampling.include_stop is bool(include)
    assert (call.text, call.train_mask) == (text, [True, True])


def test_a_version_that_is_named_needs_no_oldest_one() -> None:
    assert claim(version_id="ver", begun=3).answering("policy") == AnsweringModel("mod", "ver", 0)


class Scorer(Engine):
    """It also scores: each id by its place in the text."""

    def __init__(self) -> None:
        super().__init__()
        self.scores: list[inference_pb2.ScoreRequest] = []

    async def score(self, request: inference_pb2.ScoreRequest) -> inference_pb2.ScoreResponse:
        self.scores.append(request)
        return inference_pb2.ScoreResponse(version_id=request.version_id or "newest", items=[
            inference_pb2.ScoredItem(logp=[-float(place) for place in range(len(item.ids))],
                                     entropy=[0.25 * place for place in range(len(item.ids))])
            for item in request.items])


@pytest.mark.parametrize(("version_id", "temperature", "scored_at"), [("ver", 0.5, 0.5), (None, 0, 1)])
async def test_an_answer_that_is_given_has_the_log_probabilities_of_the_model_that_is_asked(
        version_id: str | None, temperature: float, scored_at: float) -> None:
    group = claim(version_id=version_id, sampling={"max_tokens": 1, "temperature": temperature})
    engine, given, [before, *_] = Scorer(), [*TOKENIZER.encode("12"), TOKENIZER.eos_id], TOKENIZER.encode("s1=")
    ask = Ask(Seat([], [], Heard([]), "sample"), "1", [], "invoke", "policy", [], given="12")
    request = CallRequest(group, TOKENIZER, ask, [before], group.order.sampling, given=given)
    call = await Sampler(engine, Kept(), Kept()).next_call(request, 0, [])  # type: ignore[arg-type]
    [asked] = engine.scores
    assert (asked.model_id, asked.version_id, asked.temperature, asked.top_k) == ("mod", version_id or "", scored_at, 0)
    assert [(list(one.context_ids), list(one.ids)) for one in asked.items] == [([before], given)]
    assert (call.text, call.kind, call.completion_ids, call.logp_sample) == ("12", "invoke", given, [0.0, -1.0, -2.0])
    assert (call.versions, call.finish_reason) == ([VersionSpan(version_id or "newest", 3)], "stop")
    assert (call.train_mask, call.entropy, engine.requests) == ([True] * 3, None, [])
    assert request.most_tokens == 4


async def test_the_entropy_of_calls_that_are_made_together_is_the_mean_over_their_tokens() -> None:
    group, engine = claim(n=3), Scorer()
    ask = Ask(Seat([], [], Heard([]), "sample"), "0", [], "answer", "policy", [], entropy=True)
    request = CallRequest(group, TOKENIZER, ask, TOKENIZER.encode("s1="), group.order.sampling)
    calls = await Sampler(engine, Kept(), Kept()).first_calls(request, range(3))  # type: ignore[arg-type]
    assert [call.entropy for call in calls] == [0.125] * 3
    assert [len(one.items) for one in engine.scores] == [3]
