"""Episodes of map_then_act as workers play them: phases, signals, maps, knowledge; and cut at every call."""

import json
from dataclasses import replace
from typing import Any

import pytest

from hone.environments import demonstrations, recorded
from hone.environments.hidden_shelf import HiddenShelfParams, shelves
from hone.harnesses.seat import Kept
from hone.trajectory import journal
from hone.trajectory.packing import rows
from hone.trajectory.records import Call, Step, Trajectory, Turn
from hone.trajectory.turns import turns
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from tests.support.rollout.episodes import TOKENIZER, Local, Script, answer, every_played
from tests.support.rollout.forks import Cut
from tests.support.rollout.groups import claim

PARAMS = {"places": 3, "spare": 0}
SEED = 3
PLACE = shelves(HiddenShelfParams.model_validate(PARAMS), SEED).place
[WRONG, OTHER] = [name for name in ("shelf 1", "shelf 2", "shelf 3") if name != PLACE]
MAP = f"<map>\n{PLACE} contains mug\n{WRONG} contains mug\nbe careful\n{WRONG} contains nothing\n</map>"
DONE = [f"go to {PLACE}", "take mug", "go to table 1", "put mug on table 1"]
SAYS: dict[str, list[str]] = {
    "explore": [f"go to {WRONG}", f"go to {PLACE}", "take mug", "look", "look", "look"], "map": [MAP], "execute": DONE,
    "analyse": ["what fails"], "reflect": ["I took nothing."], "distill": ["rule: look first\nerror: wrong shelf"]}


class Phases(Script):
    """Answers each call of a kind in turn. What was said before a worker died is known from the journal."""

    def __init__(self, **says: list[str]) -> None:
        super().__init__("", [])
        self.says, self.kept = {**SAYS, **says}, dict[tuple[int, str], Turn]()
        self.places = dict[str, int]()

    def _answer(self, question: CallRequest) -> Call:
        kind, path = question.ask.kind, question.ask.number.rpartition(".")[0]
        place = self.places.setdefault(f"{kind} {question.ask.number}", self._place(kind, path))
        return answer(question, self.says[kind][place % len(self.says[kind])])

    def _place(self, kind: str, path: str) -> int:
        return sum(key.startswith(f"{kind} ") and key.split()[1].rpartition(".")[0] == path for key in self.places)

    async def first_calls(self, question: CallRequest, *_: object) -> list[Call]:
        self.began.append(question)
        return [self._answer(question)]

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:
        self.asked.append((question, steps))
        self.before()
        call = self._answer(question)
        self.kept[index, call.number] = journal.decode(journal.encode({index: Turn(call, steps)}))[index]
        return call


def group(name: str = "map_then_act", **harness: Any) -> Any:
    own = {} if name == "chat" else {"collections": {"knowledge": 2}}
    return claim(sampling={"max_tokens": 128}, harness=name, harness_params=harness, task_hash="this", **own)


def local(**params: Any) -> Local:
    return Local("hidden_shelf", SEED, {**PARAMS, **params})


async def played(
    script: Script | None = None, asked: Any = None, known: list[Kept] | None = None, **params: Any
) -> Episode:
    asked = asked or group(budget=4, window=9)
    [one] = await every_played(local(**params), script or Phases(), asked, positions=4096, knowledge=known or [])
    return one


def kinds(one: Episode) -> list[str]:
    return [call.kind for call in one.calls]


def noted(one: Episode, name: str) -> list[Any]:
    return [call.notes[name] for call in one.calls if name in call.notes]


def shown(call: Call) -> str:
    return TOKENIZER.decode(call.prompt_ids)


async def test_the_policy_explores_a_copy_writes_a_map_and_acts_from_the_start() -> None:
    one = await played()
    assert kinds(one) == ["explore"] * 4 + ["map"] + ["execute"] * 4
    assert [call.number for call in one.calls] == ["0.0.0", "0.0.1", "0.0.2", "0.0.3", "1.0.0", "2", "3", "4", "5"]
    assert [step.action for step in one.steps] == [*DONE, *SAYS["explore"][:4]]
    assert (one.ended, json.loads(one.item_json)["verified"]) == ("done", 1.0)
    explored = noted(one, "exploration")
    assert [one["know"] for one in explored] == pytest.approx([1, 1, 1, 0])
    assert [one["novelty"] for one in explored] == [1, 1, 1, 1]
    assert [call.notes.get("stop") for call in one.calls[:4]] == [None, None, None, "budget"]
    [made] = noted(one, "map")
    assert made["text"] == f"{PLACE} contains mug\n{WRONG} contains nothing"
    assert (made["precision"], made["written"], made["dropped"]) == (0.5, 4, 0)
    assert made["entries"] == [[PLACE, "contains", "mug", 2], [WRONG, "contains", "nothing", 1]]
    [end] = noted(one, "outcome")
    assert end == {"success": True, "charged": True, "explored": 4, "executed": 4, "invalid": 0, "spent": 8,
                   "turns": 20}


async def test_each_phase_reads_what_it_needs() -> None:
    one = await played()
    first, second, mapping, acting, later = (one.calls[place] for place in (0, 1, 4, 5, 6))
    assert shown(second).startswith(shown(first))
    assert shown(second).endswith("you see nothing.\n[step 1 of 4, new knowledge 1.00, novelty 1.00]\n")
    assert f"> go to {WRONG}\nYou arrive at {WRONG}." in shown(mapping)
    assert "new knowledge" not in shown(mapping)
    assert shown(acting).startswith(f"Map of this task, made before:\n{PLACE} contains mug\n{WRONG} contains nothing")
    assert f"> go to {WRONG}" not in shown(acting)
    assert shown(later).startswith(shown(acting))
    bare = await played(asked=group(budget=1, signals=""))
    assert "knowledge" not in shown(bare.calls[1]).partition("You have looked around")[2]


async def test_new_facts_are_shown_while_acting_unless_that_is_off() -> None:
    one = await played()
    assert noted(one, "seen")[:2] == [[f"{PLACE} connects table 1", "table 1 affords go to"]]
    assert "New in the map: " in shown(one.calls[-1])
    never = await played(asked=group(budget=4, window=9, append=False))
    assert noted(never, "seen") == []
    assert "New in the map: " not in shown(never.calls[-1])


async def test_without_budget_and_knowledge_an_episode_is_that_of_chat() -> None:
    """map.md (a) 3: the same prompts and the same tokens."""
    one, plain = await played(asked=group(budget=0)), await played(Phases(answer=DONE), group("chat"))
    assert [(call.number, call.parent, call.turn, call.prompt_ids, call.completion_ids, call.sampling)
            for call in one.calls] == [
        (call.number, call.parent, call.turn, call.prompt_ids, call.completion_ids, call.sampling)
        for call in plain.calls]
    assert (one.steps, one.ended, one.item_json) == (plain.steps, plain.ended, plain.item_json)
    assert set(kinds(one)) == {"execute"}


async def test_exploration_converges_and_a_window_is_always_explored() -> None:
    script = Phases(explore=["look"])
    one = await played(script, group(budget=9, window=3))
    assert (kinds(one).count("explore"), noted(one, "stop")) == (4, ["converged"])
    assert [each["novelty"] for each in noted(one, "exploration")] == pytest.approx([1, 0.7071, 0.5774, 0.5], abs=1e-4)
    short = await played(Phases(explore=["look"]), group(budget=9, window=1, least_novelty=1.0))
    assert kinds(short).count("explore") == 1


async def test_success_is_noted_with_exploration_counted_and_not() -> None:
    [end] = noted(await played(turns=7), "outcome")
    assert end == {"success": True, "charged": False, "explored": 4, "executed": 4, "invalid": 0, "spent": 8,
                   "turns": 7}
    [lost] = noted(await played(Phases(execute=["take mug"])), "outcome")
    assert lost == {"success": False, "charged": False, "explored": 4, "executed": 1, "invalid": 1, "spent": 5,
                    "turns": 20}


async def test_an_exploration_that_ends_the_copy_leaves_the_task_as_it_was() -> None:
    one = await played(Phases(explore=["take mug"]))
    assert noted(one, "stop") == ["done"]
    assert kinds(one) == ["explore", "map", *["execute"] * 4]
    assert noted(one, "map")[0]["precision"] == 0.0
    assert noted(one, "outcome")[0]["success"]
    assert shown(one.calls[2]) == TOKENIZER.decode(TOKENIZER.encode(one.start.said[0]["content"]))


async def test_without_a_reset_only_harmless_actions_explore_and_the_task_goes_on() -> None:
    one = await played(asked=group(budget=4, window=9, reset=False))
    assert [step.action for step in one.steps] == [f"go to {WRONG}", f"go to {PLACE}", "look", *DONE]
    assert "While you look around, only these actions are possible" in shown(one.calls[3])
    assert [call.number for call in one.calls] == ["0", "1", "2", "3", "4.0.0", "5", "6", "7", "8"]
    assert noted(one, "outcome")[0] == {
        "success": True, "charged": True, "explored": 4, "executed": 4, "invalid": 0, "spent": 4, "turns": 20}
    over = await played(asked=group(budget=4, window=9, reset=False), turns=2)
    assert kinds(over) == ["explore", "map", "execute"], "the task has a turn left"
    assert noted(over, "stop") == ["turns"]


async def test_a_limit_ends_exploration_and_no_room_for_a_map_leaves_none() -> None:
    one = await played(asked=group(budget=4, window=9, max_turns=2))
    assert (kinds(one), one.ended) == (["explore"] * 2 + ["map"] + ["execute"] * 2, "max_turns")
    assert noted(one, "stop") == ["max_turns"]
    full = await played(asked=group(budget=4, window=9, max_context=len((await played()).calls[0].prompt_ids) + 130))
    assert (kinds(full)[:2], noted(full, "stop")) == (["explore", "execute"], ["max_context"])
    long = await played(asked=group(budget=4, window=9, write=f"{'x' * 4000}{{history}}"))
    assert kinds(long) == [*["explore"] * 4, *["execute"] * 4]


async def test_exploration_is_paid_by_what_it_brought() -> None:
    one = await played(asked=group(budget=4, window=9, intrinsic=2.0))
    assert [call.rules for call in one.calls] == [
        *({"intrinsic": 2 * each["intrinsic"]} for each in noted(one, "exploration")), *[{}] * 5]
    assert turns([trajectory(one)]).reward.tolist() == [2, 2, 2, 1, 0, 0, 0, 0, 0]


def trajectory(one: Episode) -> Trajectory:
    return Trajectory(group_id=1, index=0, request_no=17, task={}, task_hash="", item={}, calls=one.calls,
                      steps=one.steps, status="ok", score=1.0, grade_id=None)


async def test_all_that_the_policy_wrote_is_trained_and_nothing_that_it_read() -> None:
    """map.md (a) 5: weight 0 for observations, 1 for exploration."""
    one = await played()
    packed = rows(trajectory(one))
    assert [[one.calls[place].kind for place in row.calls] for row in packed] == [
        ["explore"] * 4, ["map"], ["execute"] * 4]
    for row in packed:
        wrote = [token for place in row.calls for token in one.calls[place].completion_ids]
        assert [row.response[place] for place in row.trained] == wrote
    assert [[span.name for span in call.spans] for call in one.calls] == [*[["explore"]] * 4, ["map"], *[[]] * 4]


async def test_an_episode_becomes_a_row_to_train_on_with_the_calls_of_its_phases() -> None:
    one = await played()
    stored = [{"role": call.role, "number": call.number, "kind": call.kind, "prompt_ids": call.prompt_ids,
               "completion_ids": call.completion_ids, "text": call.text, "train_mask": call.train_mask}
              for call in one.calls]
    assert len(recorded.rows(stored)) == 4, "calls of forks are left out unless they are named"
    row = {"prompt": "p", "completion": "c", recorded.COLUMN: recorded.rows(stored, ["explore", "map"])}
    [made] = demonstrations.trajectories(row, 0, ["completion"], TOKENIZER)
    assert [call.completion_ids for call in made.calls] == [call.completion_ids for call in one.calls]
    assert [call.prompt_ids for call in made.calls] == [call.prompt_ids for call in one.calls]
    assert all(all(call.train_mask) for call in made.calls)


KNOWN = [Kept("1.0", {"kind": "rule", "text": "Look first.", "task": "other"}),
         Kept("1.1", {"kind": "rule", "text": f"The mug is on {PLACE}.", "task": "this"})]


async def test_knowledge_of_other_tasks_is_read_and_that_of_this_one_is_not() -> None:
    one = await played(asked=group(budget=1), known=KNOWN)
    for call in one.calls[:3]:
        assert shown(call).startswith("What is known of this environment:\nRules:\n- Look first.\n\n")
    assert not any(f"The mug is on {PLACE}" in shown(call) for call in one.calls)
    assert noted(one, "knowledge") == [{"version": "1.1", "texts": 1, "withheld": 1}]
    off = await played(asked=group(budget=0, knowledge="off"), known=KNOWN)
    assert (shown(off.calls[0]), noted(off, "knowledge")) == (one.start.said[0]["content"], [])


async def test_knowledge_is_built_in_rounds_that_are_reflected_and_distilled() -> None:
    script = Phases(explore=["take mug"])
    one = await played(script, group(knowledge="build", rounds=2))
    assert [call.kind for call in sorted(one.calls, key=lambda call: call.index)] == [
        "analyse", "explore", "reflect", "explore", "reflect", "distill"]
    assert [call.notes["offers"] for call in one.calls if "offers" in call.notes] == [[
        {"collection": "knowledge", "item": {"kind": "rule", "text": "look first", "task": "this"}},
        {"collection": "knowledge", "item": {"kind": "error", "text": "wrong shelf", "task": "this"}}]]
    assert "Find out these things while you try the task:\nwhat fails" in shown(one.calls[1])
    [again] = [call for call in one.calls if call.kind == "explore" and "." not in call.number]
    assert "I took nothing." in shown(again)
    solved = await played(Phases(explore=DONE), group(knowledge="build", rounds=1))
    assert (kinds(solved).count("reflect"), solved.ended) == (0, "done")
    assert "Round 1, solved:" in shown(next(call for call in solved.calls if call.kind == "distill"))


async def test_what_one_task_taught_another_reads_and_itself_does_not() -> None:
    taught = await played(Phases(explore=["take mug"]), group(knowledge="build", rounds=1))
    items = [Kept(f"1.{place}", offer["item"]) for call in taught.calls
             for place, offer in enumerate(call.notes.get("offers", []))]
    own = group(budget=0)
    other = replace(own, order=own.order.model_copy(update={"task_hash": "that"}))
    [here, there] = [await played(asked=asked, known=items) for asked in (own, other)]
    assert (noted(here, "knowledge")[0]["withheld"], noted(there, "knowledge")[0]["withheld"]) == (2, 0)
    assert shown(here.calls[0]) == here.start.said[0]["content"]
    assert shown(there.calls[0]).startswith(
        "What is known of this environment:\nRules:\n- look first\nErrors:\n- wrong shelf\n\nYou see")


BUILD = {"knowledge": "build", "rounds": 2}
PHASES = {"budget": 4, "window": 9, "intrinsic": 1.0}


@pytest.mark.parametrize(("params", "cut"), [
    *((PHASES, cut) for cut in range(1, 9)), *(({**PHASES, "reset": False}, cut) for cut in range(1, 9)),
    *((BUILD, cut) for cut in range(1, 6))])
async def test_an_episode_that_is_cut_at_any_call_ends_in_the_same_bits(params: dict[str, Any], cut: int) -> None:
    says = {"explore": ["take mug"]} if params is BUILD else {}
    whole, script = await played(Phases(**says), group(**params), KNOWN), Phases(**says)

    def die() -> None:
        if len(script.asked) == cut:
            raise Cut

    script.before = die
    with pytest.raises(Cut):
        await played(script, group(**params), KNOWN)
    later = Phases(**says)
    later.places = dict(script.places)
    again = await played(later, replace(group(**params), attempt=2, journaled=script.kept), KNOWN)
    assert (again.calls, again.steps, again.ended, again.item_json) == (
        whole.calls, whole.steps, whole.ended, whole.item_json)


@pytest.mark.parametrize("call", [1, 3, 4, 5, 7])
async def test_an_episode_whose_sessions_are_lost_ends_in_the_same_bits(call: int) -> None:
    whole, here, script = await played(), local(), Phases()
    script.before = lambda: here.restart() if len(script.asked) == call else None
    [one] = await every_played(here, script, group(budget=4, window=9), positions=4096, knowledge=[])
    assert (one.calls, one.steps, one.ended) == (whole.calls, whole.steps, whole.ended)


@pytest.mark.parametrize("environment", ["text_craft", "textworld", "household"])
async def test_it_plays_every_text_world_that_there_is(environment: str) -> None:
    if environment == "household":
        pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")
    script = Phases(explore=["look", "inventory", "go to cabinet 1"], execute=["look"], map=["<map>\n</map>"])
    [one] = await every_played(Local(environment, 1, {"turns": 4}), script, group(budget=3, window=9),
                               positions=8192, knowledge=[])
    assert kinds(one) == ["explore"] * 3 + ["map"] + ["execute"] * 4
    assert (one.ended, noted(one, "outcome")[0]["success"]) == ("done", False)
