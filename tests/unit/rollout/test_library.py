"""Episodes with a library as workers play them: query, order, play, lesson; and cut at every call."""

from dataclasses import replace
from typing import Any

import pytest

from hone.harnesses.seat import Kept
from hone.trajectory import journal
from hone.trajectory.records import Call, Step, Turn
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from tests.support.rollout.episodes import TOKENIZER, Local, Script, answer, every_played
from tests.support.rollout.forks import Cut
from tests.support.rollout.groups import claim

PARAMS = {"points": 2, "plain": 1.0, "useful": 1.0, "harmful": 0.0}
KNOWN = [Kept("1.0", {"skill": {"text": "wait here", "about": "go slowly"}}),
         Kept("1.1", {"skill": {"text": "go on", "about": "go fast"}}), Kept("2.0", {"used": "1.0", "outcome": 1.0})]
SAYS = {"query": "how to go", "rerank": "2, then 1", "play": "go", "distill": "Just go on."}


class Phases(Script):
    """Answers each call by its kind, the plays in turn."""

    def __init__(self, **says: str) -> None:
        super().__init__("", [])
        self.says, self.kept = {**SAYS, **says}, dict[tuple[int, str], Turn]()

    async def first_calls(self, question: CallRequest, *_: object) -> list[Call]:
        self.began.append(question)
        return [answer(question, self.says["query"])]

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:
        self.asked.append((question, steps))
        self.before()
        call = answer(question, self.says[question.ask.kind])
        self.kept[index, call.number] = journal.decode(journal.encode({index: Turn(call, steps)}))[index]
        return call


def group(**harness: Any) -> Any:
    params = {"syntax": "plain", "use": "{skill}! {task}", **harness}
    return claim(sampling={"max_tokens": 64}, harness="library", harness_params=params, collections={"library": 2})


async def played(
    script: Phases, known: list[Kept] = KNOWN, params: dict[str, Any] = PARAMS, asked: Any = None,
) -> Episode:
    [one] = await every_played(Local("skill_points", 3, params), script, asked or group(), positions=4096,
                               library=known)
    return one


def kinds(one: Episode) -> list[str]:
    return [call.kind for call in sorted(one.calls, key=lambda call: "." in call.number)]


def noted(one: Episode) -> dict[str, Any]:
    return {name: value for call in one.calls for name, value in call.notes.items() if name != "offers"}


def offered(one: Episode) -> list[Any]:
    return [offer["item"] for call in one.calls for offer in call.notes.get("offers", [])]


async def test_the_policy_queries_orders_plays_and_distils() -> None:
    one = await played(Phases())
    assert (kinds(one), one.ended) == (["query", "rerank", "play", "play", "distill"], "done")
    assert [step.action for step in one.steps] == ["go", "go"]
    first = {"id": "1.0", "similarity": 0.5, "utility": 0.525, "uses": 2}
    assert noted(one) == {"retrieved": [first, {**first, "id": "1.1", "utility": 0.5, "uses": 1}], "order": [1, 0],
                          "outcome": True, "distilled": True}
    task = one.start.said[-1]["content"]
    assert offered(one) == [{"used": "1.1", "outcome": 1.0}, {"skill": {"text": "Just go on.", "about": task}}]
    by_kind = {call.kind: TOKENIZER.decode(call.prompt_ids) for call in reversed(one.calls)}
    assert by_kind["play"].endswith(f"go on! {task}")
    assert "1. wait here\n2. go on\n" in by_kind["rerank"]
    assert "did:\ngo\n" in by_kind["distill"]
    assert "The episode succeeded." in by_kind["distill"]
    assert all(task in text for text in by_kind.values())


@pytest.mark.parametrize(("known", "says", "expected", "used"), [
    ([], {}, ["query", "play", "play", "distill"], []),
    (KNOWN[:1], {}, ["query", "play", "play", "distill"], ["1.0"]),
    (KNOWN, {"query": "?"}, ["query", "play", "play", "distill"], []),
    (KNOWN, {"rerank": "neither 0 nor 7"}, ["query", "rerank", "play", "play", "distill"], ["1.0"])])
async def test_without_a_choice_nothing_is_ordered(
        known: list[Kept], says: dict[str, str], expected: list[str], used: list[str]) -> None:
    one = await played(Phases(**says), known)
    assert kinds(one) == expected
    assert [item["used"] for item in offered(one) if "used" in item] == used
    assert noted(one).get("order") is None


async def test_a_failed_episode_is_distilled_and_its_skill_is_not_offered() -> None:
    one = await played(Phases(), params={**PARAMS, "plain": 0.0})
    assert (noted(one)["outcome"], noted(one)["distilled"]) == (False, True)
    assert offered(one) == [{"used": "1.1", "outcome": 0.0}]


async def test_what_cannot_be_read_is_not_offered() -> None:
    one = await played(Phases(distill="?"))
    assert (noted(one)["distilled"], offered(one)) == (False, [{"used": "1.1", "outcome": 1.0}])


async def test_an_episode_that_a_limit_ends_is_not_scored_and_offers_nothing() -> None:
    one = await played(Phases(), asked=group(max_turns=3))
    assert (kinds(one), one.ended, offered(one)) == (["query", "rerank", "play"], "max_turns", [])


@pytest.mark.parametrize("cut", range(1, 5))
async def test_an_episode_that_is_cut_at_any_call_ends_in_the_same_bits(cut: int) -> None:
    whole, script = await played(Phases()), Phases()

    def die() -> None:
        if len(script.asked) == cut:
            raise Cut

    script.before = die
    with pytest.raises(Cut):
        await played(script)
    again = await played(Phases(), asked=replace(group(), attempt=2, journaled=script.kept))
    assert (again.calls, again.steps, again.ended, again.item_json) == (
        whole.calls, whole.steps, whole.ended, whole.item_json)
