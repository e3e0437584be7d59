"""Episodes with skills as workers play them: calls, branched turns, and what is noted; and cut at every call."""

from dataclasses import replace
from typing import Any

import pytest

from hone.environments.tasks import episode, make
from hone.trajectory import journal
from hone.trajectory.records import Call, Step, Turn
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from tests.support.rollout.episodes import TOKENIZER, Local, Script, answer, every_played
from tests.support.rollout.forks import Cut
from tests.support.rollout.groups import claim

PARAMS = {"points": 3, "plain": 1.0, "useful": 1.0, "harmful": 0.0}
SEED = next(seed for seed in range(99) if episode(make("skill_points", PARAMS, seed)).reset().item["signs"][1:] == [
    "++", "+-"])
AID, GO = "skill: aid", "go"
TRUNK = [GO, AID, GO, GO]
"""Helps at the second point and harms nowhere."""


class Says(Script):
    """Answers the calls of the trunk in turn, and others by their number, or else by the last text."""

    def __init__(self, trunk: list[str], others: dict[str, str] | None = None) -> None:
        super().__init__(trunk[0], [])
        self.trunk, self.others, self.kept = trunk, others or {}, dict[tuple[int, str], Turn]()

    async def first_calls(self, question: CallRequest, *_: object) -> list[Call]:
        self.began.append(question)
        return [self._answer(question)]

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:
        self.asked.append((question, steps))
        self.before()
        call = self._answer(question)
        self.kept[index, call.number] = journal.decode(journal.encode({index: Turn(call, steps)}))[index]
        return call

    def _answer(self, question: CallRequest) -> Call:
        number = question.ask.number
        text = self.others.get(number, GO) if "." in number else self.trunk[int(number)]
        call = answer(question, text)
        return replace(call, entropy=1 / (1 + int(number))) if question.ask.entropy else call


def group(**harness: Any) -> Any:
    library = {"aid": "", "book": "It is written."}
    params = {"library": library, "describe": False, "retrieve": 0.0, **harness}
    return claim(sampling={"max_tokens": 64}, harness="skills", harness_params=params)


async def skilled(trunk: list[str], others: dict[str, str] | None = None, **harness: Any) -> Episode:
    [one] = await every_played(Local("skill_points", SEED, PARAMS), Says(trunk, others), group(**harness))
    return one


def notes(one: Episode) -> dict[str, dict[str, Any]]:
    return {call.number: call.notes for call in one.calls}


async def test_a_skill_of_the_environment_is_an_action_and_a_text_comes_back_as_a_message() -> None:
    one = await skilled(["skill: book", AID, AID, "skill: fly", GO, GO, GO])
    assert [step.action for step in one.steps] == ["aid", "aid", "go", "go", "go"]
    assert [call.notes.get("status") for call in one.calls] == [
        "completed", "completed", "unmet_precondition", "invalid_call", None, None, None]
    assert [call.notes.get("skill") for call in one.calls] == ["book", "aid", "aid", "fly", None, None, None]
    assert TOKENIZER.decode(one.calls[1].prompt_ids).endswith("skill: book<eos>It is written.")
    assert TOKENIZER.decode(one.calls[4].prompt_ids).endswith("skill: fly<eos>There is no such skill.")
    assert one.calls[-1].notes["outcome"] == {"success": one.trunk.seat.facts.score == 1, "steps": 5}
    assert {call.entropy for call in one.calls} == {None}


def of(one: Episode, seat: str) -> list[Call]:
    """Return the calls of a seat."""
    return [call for call in one.calls if call.number.rpartition(".")[0] == seat]


async def test_a_turn_is_played_in_both_ways_from_the_same_prompt() -> None:
    one = await skilled(TRUNK, branches=1)
    trunk, skip, invoke = of(one, ""), of(one, "4.0"), of(one, "5.0")
    assert [[call.kind for call in calls] for calls in (trunk, skip, invoke)] == [
        ["answer"] * 4, ["skip", "answer", "answer"], ["invoke", "answer", "answer", "answer"]]
    assert [[call.entropy for call in calls] for calls in (trunk, skip)] == [[1, 1 / 2, 1 / 3, 1 / 4], [None] * 3]
    assert skip[0].prompt_ids == invoke[0].prompt_ids == trunk[0].prompt_ids, "the first turn is the least certain"
    branch = {"before": "0", "skill": "aid", "invoked": False, "entropy": 1.0, "repeat": 0}
    assert [calls[0].notes["branch"] for calls in (skip, invoke)] == [
        {**branch, "side": side} for side in ("skip", "invoke")]
    assert (invoke[0].text, invoke[0].notes["skill"], invoke[0].notes["status"]) == (AID, "aid", "completed")
    ends = [calls[-1].notes["outcome"] for calls in (trunk, skip, invoke)]
    first = one.start.session.observation.item_json
    assert ends == [{"success": True, "steps": 4}, {"success": True, "steps": 3, "late_call": False},
                    {"success": '["-+' in first or '["++' in first, "steps": 4, "late_call": False}]
    assert ('"calls":1' in one.item_json.replace(" ", ""), one.ended) == (True, "done"), "the sample is its trunk"


async def test_a_called_skill_is_called_again_in_the_policys_own_words_and_skipped_until_another_answer_comes() -> None:
    others = {"4.0.0": AID, "5.0.0": f"no\n{AID}"}
    one = await skilled([GO, GO, f"well\n{AID}", GO], others, branches=1, retrieve=1)
    asked, refused = of(one, "")[2], [*of(one, "4.0"), *of(one, "5.0")]
    skip, invoke = of(one, "6.0"), of(one, "7.0")
    assert [call.notes for call in refused] == [{"refused": True}] * 2
    assert {tuple(call.prompt_ids) for call in (*refused, skip[0], invoke[0])} == {tuple(asked.prompt_ids)}
    assert [calls[0].notes["branch"]["invoked"] for calls in (skip, invoke)] == [True, True]
    assert (invoke[0].text, invoke[0].completion_ids) == (f"well\n{AID}", asked.completion_ids)
    assert [call.kind for call in one.calls[4:]] == ["skip"] * 3 + ["invoke", "answer"]
    assert [calls[-1].notes["outcome"] for calls in (skip, invoke)] == [
        {"success": True, "steps": 1, "late_call": False}, {"success": False, "steps": 2, "late_call": False}]


async def test_a_turn_for_which_no_other_answer_comes_is_given_up() -> None:
    others = {f"{fork}.0.0": AID for fork in range(4, 7)}
    one = await skilled(TRUNK, others, branches=1, retrieve=1, tries=3)
    assert [call.number for call in one.calls[4:]] == ["4.0.0", "5.0.0", "6.0.0"]
    assert all(call.notes == {"refused": True} for call in one.calls[4:])
    assert (one.ended, one.calls[3].notes["outcome"]["success"]) == ("done", True)


async def test_a_skipped_skill_that_is_called_later_is_a_late_call() -> None:
    one = await skilled(TRUNK, {"4.0.1": AID, "5.0.2": AID}, branches=1)
    assert [of(one, seat)[-1].notes["outcome"]["late_call"] for seat in ("4.0", "5.0")] == [True, False]


async def test_a_continuation_has_the_calls_that_are_left() -> None:
    one = await skilled(TRUNK, {"4.0.1": "?", "4.0.2": "?"}, branches=1, max_turns=4)
    assert [(len(of(one, seat)), of(one, seat)[-1].notes["outcome"]["success"]) for seat in ("", "4.0", "5.0")] == [
        (4, True), (4, False), (4, of(one, "5.0")[-1].notes["outcome"]["success"])]


async def test_a_branch_whose_environment_is_another_one_has_no_end() -> None:
    local, script = Local("skill_points", SEED, PARAMS), Says(TRUNK)

    def elsewhere() -> None:
        local.seed += len(script.asked) == len(TRUNK)

    script.before = elsewhere
    [one] = await every_played(local, script, group(branches=1))
    assert (one.ended, one.masked, one.calls[3].notes["outcome"]["success"]) == ("done", "", True)
    assert [set(of(one, seat)[-1].notes) & {"branch", "outcome"} for seat in ("4.0", "5.0")] == [{"branch"}] * 2


BRANCHED: dict[str, Any] = {"branches": 2, "repeats": 2}
OTHERS = {"4.0.0": AID, "5.0.1": "skill: book", "7.0.0": "?"}
CALLS = 25


@pytest.mark.parametrize("cut", range(1, CALLS, 2))
async def test_an_episode_that_is_cut_at_any_call_ends_in_the_same_bits(cut: int) -> None:
    whole, script = await skilled(TRUNK, OTHERS, **BRANCHED), Says(TRUNK, OTHERS)

    def die() -> None:
        if len(script.asked) == cut:
            raise Cut

    script.before = die
    with pytest.raises(Cut):
        await every_played(Local("skill_points", SEED, PARAMS), script, group(**BRANCHED))
    again = Says(TRUNK, OTHERS)
    later = replace(group(**BRANCHED), attempt=2, journaled=script.kept)
    [one] = await every_played(Local("skill_points", SEED, PARAMS), again, later)
    assert (one.calls, one.steps, one.ended, one.item_json) == (whole.calls, whole.steps, whole.ended, whole.item_json)
    assert len(again.asked) == len(whole.calls) - 1 - len(script.kept)


@pytest.mark.parametrize("call", range(1, CALLS, 3))
async def test_an_episode_whose_sessions_are_lost_ends_in_the_same_bits(call: int) -> None:
    whole, local = await skilled(TRUNK, OTHERS, **BRANCHED), Local("skill_points", SEED, PARAMS)
    script = Says(TRUNK, OTHERS)
    script.before = lambda: local.restart() if len(script.asked) == call else None
    [one] = await every_played(local, script, group(**BRANCHED))
    assert (one.calls, one.steps, one.ended) == (whole.calls, whole.steps, whole.ended)
