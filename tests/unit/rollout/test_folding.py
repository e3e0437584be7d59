"""Folded episodes as workers play them: prompts, rows, penalties and facts; and cut at every call."""

from dataclasses import replace
from typing import Any

import pytest

from hone.environments.tasks import episode, make
from hone.trajectory.packing import rows
from hone.trajectory.records import Call, Step, Trajectory
from hone.trajectory.turns import turns
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from tests.support.rollout.episodes import TOKENIZER, Local, answer, every_played
from tests.support.rollout.forks import Cut, Texts
from tests.support.rollout.groups import claim

PARAMS = {"doors": 2, "colours": 4, "slack": 4}
SEED = 3
SEEN = episode(make("phase_lock", PARAMS, SEED)).reset()
FIRST, SECOND = SEEN.item["doors"]
[ABSENT, *_] = [name for name in SEEN.entities.lexicon if name not in SEEN.entities.present]  # type: ignore[union-attr]


def step(action: str, subgoal: str = "", done: int | None = None) -> str:
    named = f"subgoal: {subgoal}\n" if subgoal else ""
    return f"reflect: -\ndone: {int(bool(subgoal)) if done is None else done}\n{named}action: {action}"


SAID = [
    step(f"take {FIRST}", f"the {FIRST} door"), step("look"), step("look"), "what?", step("fly"),
    step("open"), step("open", f"the {ABSENT} door"), step(f"take {SECOND}", f"the {SECOND} door"), step("open")]
"""A loop, an output without fields, an impossible action, a subgoal finished by an action without effect."""


class Says(Texts):
    """Answers each call with the next text."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    async def first_calls(self, question: CallRequest, *_: object) -> list[Call]:
        self.began.append(question)
        return [answer(question, self.said[0])]

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:
        call = await super().next_call(question, index, steps)
        text = self.said[int(question.ask.number)]
        made = answer(question, text)
        self.kept[index, call.number] = replace(self.kept[index, call.number], call=made)
        return made


def group(**harness: Any) -> Any:
    return claim(sampling={"max_tokens": 64}, harness="folding", harness_params={"describe": False, **harness})


def local() -> Local:
    return Local("phase_lock", SEED, PARAMS)


async def folded(said: list[str] = SAID, positions: int = 2048, **harness: Any) -> Episode:
    [one] = await every_played(local(), Says(said), group(**harness), positions=positions)
    return one


def shown(one: Episode) -> list[str]:
    return [TOKENIZER.decode(call.prompt_ids) for call in one.calls]


async def test_each_rule_is_paid_at_its_step() -> None:
    one = await folded()
    assert (one.ended, len(one.calls)) == ("done", len(SAID))
    fired = {call.index: {rule for rule, value in call.rules.items() if value} for call in one.calls}
    assert {place: rules for place, rules in fired.items() if rules} == {
        2: {"loop"}, 3: {"format"}, 4: {"format"}, 6: {"grounding"}, 7: {"false_finish"}}
    assert {value for call in one.calls for value in call.rules.values()} == {0.0, -0.1}
    assert [step.action for step in one.steps] == [
        f"take {FIRST}", "look", "look", "", "fly", "open", "open", f"take {SECOND}", "open"]


async def test_a_false_finish_costs_nothing_in_a_failure() -> None:
    one = await folded(SAID[:-1] + [step("look") for _ in range(8)])
    assert {value for call in one.calls for rule, value in call.rules.items() if rule == "false_finish"} == {0.0}
    assert one.ended == "done"


async def test_a_rule_without_a_size_gives_nothing() -> None:
    one = await folded(penalties={"loop": 0.2, "format": 0.0, "false_finish": 0.0, "grounding": 0.0})
    assert [call.rules for call in one.calls if any(call.rules.values())] == [{"loop": -0.2}]
    assert all(call.rules.keys() == {"loop"} for call in one.calls)


async def test_a_folded_prompt_has_records_and_the_present_subgoal_alone() -> None:
    prompts = shown(await folded())
    assert prompts[0].endswith(f"look.\nThe door is {FIRST}.")
    assert prompts[1].endswith(f"look.\nSubgoal: the {FIRST} door\n> take {FIRST}\nYou hold the {FIRST} key.")
    assert prompts[4].endswith("> look\nThe door is " + f"{FIRST}.\nNothing happens.")
    opened = f"Finished: the {FIRST} door\nThe door opens. The door is {SECOND}."
    assert prompts[8].endswith(f"{opened}\nFinished: the {ABSENT} door\nNothing happens.\nSubgoal: the {SECOND} door\n"
                               f"> take {SECOND}\nYou hold the {SECOND} key.")
    assert f"> take {FIRST}" not in prompts[8]
    assert f"> take {FIRST}\n" in shown(await folded(fold=False))[8]


@pytest.mark.parametrize("fold", [True, False])
async def test_each_step_is_a_row_and_a_turn_of_its_own(fold: bool) -> None:
    one = await folded(fold=fold)
    made = Trajectory(group_id=1, index=0, request_no=17, task={}, task_hash="", item={}, calls=one.calls,
                      steps=one.steps, status="ok", score=1.0, grade_id=None)
    assert [row.calls for row in rows(made)] == [(place,) for place in range(len(SAID))]
    given = turns([made])
    assert given.reward.tolist() == [0, 0, -0.1, -0.1, -0.1, 0, -0.1, -0.1, 0]
    assert given.rules.keys() == {"grounding", "false_finish", "loop", "format"}


async def test_what_a_step_was_is_stored() -> None:
    facts = [call.notes["folding"] for call in (await folded()).calls]
    assert [(one["k"], one["j"], one["folded"], one["parsed"]) for one in facts] == [
        (1, 0, False, True), (1, 1, False, True), (1, 2, False, True), (1, 3, False, False), (1, 3, False, True),
        (1, 4, False, True), (2, 0, True, True), (3, 0, True, True), (3, 1, False, True)]
    assert facts[-1]["subgoal"] == f"the {SECOND} door"


async def test_a_prompt_without_room_loses_its_oldest_observations_and_at_last_ends() -> None:
    said = [step(f"take {FIRST}", "one"), step("open"), step("look", "two"), step(f"take {SECOND}", "three"),
            step("open")]
    whole = shown(await folded(said))
    short = await folded(said, max_context=len(whole[4]) + 63)
    assert shown(short)[:4] == whole[:4]
    assert shown(short)[4] == whole[4].replace(f"one\nThe door opens. The door is {SECOND}.", "one")
    assert short.ended == "done"
    ended = await folded(max_context=len(whole[2]) + 63)
    assert (ended.ended, len(ended.calls), ended.calls[0].rules["loop"]) == ("max_context", 3, 0.0)


async def test_reflection_can_be_a_call_of_its_own() -> None:
    said = [part for text in SAID for part in (text.rpartition("\n")[0], text.rpartition("\n")[2])]
    named = [(f"{one}\n{two}".split("\n")) for one, two in zip(said[::2], said[1::2], strict=True)]
    said = [part for lines in named for part in ("\n".join(lines[:2]), "\n".join(lines[2:]))]
    one = await folded(said, two_calls=True)
    assert [call.kind for call in one.calls[:4]] == ["reflect", "act", "reflect", "act"]
    assert TOKENIZER.decode(one.calls[1].prompt_ids).endswith("Now decide.")
    assert [call.index for call in one.calls if any(call.rules.values())] == [4, 6, 8, 12, 14]


@pytest.mark.parametrize("harness", [{}, {"fold": False}])
@pytest.mark.parametrize("cut", range(1, len(SAID)))
async def test_an_episode_that_is_cut_at_any_call_ends_in_the_same_bits(cut: int, harness: dict[str, Any]) -> None:
    whole, script = await folded(**harness), Says(SAID)

    def die() -> None:
        if len(script.asked) == cut:
            raise Cut

    script.before = die
    with pytest.raises(Cut):
        await every_played(local(), script, group(**harness), positions=2048)
    again = Says(SAID)
    later = replace(group(**harness), attempt=2, journaled=script.kept)
    [one] = await every_played(local(), again, later, positions=2048)
    assert (one.calls, one.steps, one.ended, one.item_json) == (whole.calls, whole.steps, whole.ended, whole.item_json)
    assert len(again.asked) == len(SAID) - 1 - len(script.kept)


@pytest.mark.parametrize("call", [1, 5, 8])
async def test_an_episode_whose_session_is_lost_ends_in_the_same_bits(call: int) -> None:
    whole, here, script = await folded(), local(), Says(SAID)
    script.before = lambda: here.restart() if len(script.asked) == call else None
    [one] = await every_played(here, script, group(), positions=2048)
    assert (one.calls, one.steps, one.ended) == (whole.calls, whole.steps, whole.ended)
