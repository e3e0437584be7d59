"""A model writes tasks of the desk: good ones are kept, cheats fall by the gates, and a validator is heard."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from hone.environments.contract import WrongParams
from hone.environments.desk.agents import AGENTS, actions, graded
from hone.environments.desk.authored import AuthoredTasks
from hone.environments.desk.environment import Desk, DeskParams
from hone.environments.desk.rivals import Replay
from hone.environments.desk.written import WrittenTask, task_of
from hone.environments.desk.written_gates import written_gates
from hone.environments.synthesis.hints import NoWorld
from hone.environments.tasks import make
from hone.environments.tools import ToolCall
from tests.unit.environments.desk import fitting


class Model:
    """Says what a function of the question returns."""

    def __init__(self, says: Callable[[str], Any]) -> None:
        self.says, self.asked = says, list[tuple[str, int]]()

    def __call__(self, messages: Sequence[Mapping[str, str]], seed: int, /) -> Any:
        self.asked.append((messages[-1]["content"], seed))
        return self.says(self.asked[-1][0])


def over(answers: Mapping[str, Any]) -> Model:
    """Return a good model that says something else to some questions."""
    return Model(lambda question: next((said for words, said in answers.items() if words in question), None) or (
        fitting.answer(question)))


def tasks(model: Model, seed: int = 0) -> AuthoredTasks:
    return AuthoredTasks(model, model, seed)


def repairs(written: dict[str, Any]) -> dict[str, str]:
    return {one.gate: one.repair for one in written_gates(WrittenTask.model_validate(written)) if one.repair}


def test_a_good_author_writes_rows_that_are_played() -> None:
    making = tasks(Model(fitting.answer))
    rows = making.made(fitting.HINT, 2)
    assert [row["seed"] for row in rows] == [0, 1]
    assert making.trail.progress == {"phase": "tasks", "done": 2, "of": 2}
    assert [(one.score, one.objection) for one in making.noted] == [(85.0, ""), (85.0, "")]
    assert "Ingrid Holm asked" in rows[0]["prompt"]
    assert len({make("desk", {}, 0, row).content_hash for row in rows}) == 2
    with pytest.raises(WrongParams, match=r"item\.task\.zone: "):
        make("desk", {}, 0, {**rows[0], "task": {**rows[0]["task"], "zone": None}})
    episode = Desk().episode(DeskParams.model_validate({}), 0, rows[0])
    episode.reset()
    for action in episode.solution():
        episode.step(action)
    assert episode.verify() == 1
    desk = task_of(WrittenTask.model_validate(rows[0]["task"]))
    assert [graded(agent, desk).score for agent in AGENTS] == [
        100.0, 75.0, 30.0, 5.0, 0.0]


def test_equal_makings_ask_the_same_and_the_hint_is_data_between_marks() -> None:
    first, again, other = (Model(fitting.answer) for _ in range(3))
    rows = tasks(first).made(fitting.HINT, 2)
    assert rows == tasks(again).made(fitting.HINT, 2)
    tasks(other, seed=1).made(fitting.HINT, 2)
    assert first.asked == again.asked
    assert {seed for _, seed in first.asked}.isdisjoint(seed for _, seed in other.asked)
    begin, _, rest = first.asked[0][0].partition(f"\n{fitting.HINT}\n")
    assert rest.startswith(f"END {begin.rpartition('BEGIN ')[2]}\n")


def test_programs_that_read_too_little_fall_by_the_gates() -> None:
    assert repairs(fitting.TASK) == {}
    assert repairs(fitting.trivial())["idle"] == "the state before scores 100, expected at most 10"
    assert set(repairs(fitting.blind())) == {"rivals"}
    assert "with to nobody@elsewhere.example in place of ingrid@holm.example: it scores 100" in repairs(
        fitting.blind())["rivals"]
    assert "over-eager" in repairs(fitting.task(allowed=[{"tool": tool, "object": "*"} for tool in (
        "calendar", "mail", "notes")]))["rivals"]


@pytest.mark.parametrize(("otherwise", "gate", "repair"), [
    ({"solution": [fitting.MOVED]}, "reference", "the reference scores 30, expected 100"),
    ({"solution": [{"tool": "fly", "arguments": {}}]}, "solution", "call 1 of the solution: error: "),
    ({"wrong_object": fitting.TASK["solution"]}, "wrong object", "the agent of wrong_object scores 100"),
    ({"near_misses": []}, "near misses", "found 0 near misses, expected at least 3"),
    ({"instruction": "Move Ingrid's fitting to the time of her latest request, and confirm it."}, "named",
     "confirmation demands 'Fitting moved', which stands neither in the instruction nor on the desk")])
def test_what_a_gate_finds_is_said(otherwise: dict[str, Any], gate: str, repair: str) -> None:
    assert repairs(fitting.task(**otherwise))[gate].startswith(repair)


@pytest.mark.parametrize(("otherwise", "wrong"), [
    ({"zone": "Mars"}, "zone: expected one of UTC"),
    ({"now": "0001-01-01"}, "now: expected time: found '0001-01-01', expected a time of the years from 1900 to 2999"),
    ({"now": "2025-01-01"}, "desk.mail.M1.sent: expected a time before now"),
    ({"checks": fitting.TASK["checks"][:2]}, "checks: expected one at least of the kind core, and one of the kind"),
    ({"allowed": [{"tool": "fax", "object": "*"}]}, "allowed.0.tool: expected one of files"),
    ({"desk": {"files": {"/a": {"text": ""}, "/a/b": {"text": ""}}}}, "files: /a is a file, and /a/b lies below it"),
    ({"checks": [*fitting.TASK["checks"], {"id": "x", "description": "x", "kind": "core", "conditions": [
        {"kind": "value", "tool": "calendar", "object": "E1", "field": "modified", "equals": "x"}]}]},
     "checks.x.conditions.0: expected a field of calendar"),
    ({"checks": [*fitting.TASK["checks"], {"id": "x", "description": "x", "kind": "core", "conditions": [
        {"kind": "value", "tool": "files", "object": "/prices.txt", "field": "locked", "equals": [True]}]}]},
     "checks.x.conditions.0.locked: expected a text, a list of texts, or true or false")])
def test_a_draft_that_is_no_task_is_refused_by_its_field(otherwise: dict[str, Any], wrong: str) -> None:
    model = over({"Write task": fitting.task(**otherwise)})
    making = tasks(model)
    with pytest.raises(NoWorld):
        making.made(fitting.HINT, 1)
    assert wrong in making.trail.refusals["task 0"][0]
    assert wrong in model.asked[1][0], "its author hears it"


def test_a_replay_scores_what_an_episode_does() -> None:
    desk = task_of(WrittenTask.model_validate(fitting.TASK))
    replay = Replay(desk)
    for agent in AGENTS:
        assert replay.points(actions(agent, desk)[:-1]) == graded(agent, desk).score
    refused = ToolCall("delete_mail", {"mail": "M9"}).action()
    assert replay.points([refused, *desk.scripts.perfect]) == 100


def test_a_cheat_ends_with_what_was_tried() -> None:
    model = over({"Write task": fitting.trivial()})
    making = tasks(model)
    with pytest.raises(NoWorld, match=r"no task was accepted \(tried: 3 times: idle: the state before scores 100"):
        making.made(fitting.HINT, 1)
    assert (len(model.asked), making.noted) == (9, []), "no validator is asked about what a gate refuses"
    assert len(making.trail.tasks) == 3


def test_two_passes_overrule_a_validator_and_one_does_not() -> None:
    making = tasks(over({"Another model wrote": fitting.OBJECTION}))
    assert len(making.made(fitting.HINT, 1)) == 1
    [noted] = making.noted
    assert (noted.missing, noted.accepted) == (("time: the length is not said",), True)
    assert noted.adjudicated == (False, False)
    passes = iter([False, True] * 9)
    half = Model(lambda question: {**fitting.OVERRULED, "upheld": next(passes)} if "A validator refused" in question
                 else fitting.OBJECTION if "Another model wrote" in question else fitting.answer(question))
    with pytest.raises(NoWorld, match="does not say what time demands: the length is not said"):
        tasks(half).made(fitting.HINT, 1)


def test_who_overrules_has_to_quote_the_task() -> None:
    making = tasks(over({"Another model wrote": fitting.OBJECTION, "A validator refused": {
        "upheld": False, "evidence": "as everybody knows, it is fine"}}))
    with pytest.raises(NoWorld):
        making.made(fitting.HINT, 1)
    assert making.noted[0].adjudicated == (True, True)
    assert making.trail.refusals["adjudication 0 of task 0"][0].startswith("evidence: expected at least 12 characters")
