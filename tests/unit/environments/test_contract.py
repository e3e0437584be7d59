"""Every environment keeps the contract: episodes can be recreated, hashed and forked."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import pytest

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import EpisodeOver, Task, WrongParams
from hone.environments.hashing import digest
from hone.environments.tasks import checked_params, episode, make
from hone.harnesses.catalogue import HARNESSES
from tests.support.environments.tasks import TASKS
from tests.unit.environments.packages.shop import OneShelf, shop
from tests.unit.environments.tau2.kiosk import KioskShelf

RULES = {"length": 0.5, "compliance": 1.0, "repetition": 0.25, "right": 2.0}
GRADED = make("sort_turns", {"digits": 3, "slack": 4, "rules": RULES}, 4)
SEVERAL_TURNS = {"sort_turns", "sqlite", "phase_lock", "sql_exploration", "skill_points", "hidden_shelf", "text_craft",
                 "household", "textworld", "dialogue", "desk", "package", "tau2",
                 "changing_user"}
WORLDS_OF_OTHERS = {"openenv", "mcp", "verifiers"}  # their own tests play them: no process of theirs is here
NEEDED = {"reasoning_gym": {"task": "leg_counting"}, **{name: {"world": "far"} for name in WORLDS_OF_OTHERS}}
SCORES_ITSELF = SEVERAL_TURNS | {"merchant_strategies"}
every_task = pytest.mark.parametrize("task", [*TASKS, "graded"], indirect=True)
single_turn = pytest.mark.parametrize("task", [name for name in TASKS if name not in SEVERAL_TURNS], indirect=True)


@pytest.fixture
def task(request: pytest.FixtureRequest) -> Task:
    """The task of a name. TextWorld takes seconds to make its first, so that none is made before a test needs it."""
    if request.param == "household":
        pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")
    return _made(request.param)


@cache
def _made(name: str) -> Task:
    return GRADED if name == "graded" else TASKS[name]()


@pytest.fixture(scope="module", autouse=True)
def _shelf() -> Iterator[None]:
    """Let this process play a package, and a domain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ENVIRONMENTS["package"], "shelf", OneShelf(shop()))
        patch.setattr(ENVIRONMENTS["tau2"], "shelf", KioskShelf())
        yield


def test_the_table_covers_every_environment() -> None:
    assert TASKS.keys() | WORLDS_OF_OTHERS == ENVIRONMENTS.keys()


@every_task
def test_equal_tasks_and_actions_give_equal_states(task: Task) -> None:
    first, second = episode(task), episode(Task(**asdict(task)))
    assert first.reset() == second.reset()
    assert first.step("12") == second.step("12")
    assert first.state_hash() == second.state_hash()


@single_turn
def test_an_answer_changes_the_state_and_ends_the_episode(task: Task) -> None:
    one = episode(task)
    before = one.reset()
    after = one.step("12")
    assert (before.turns_left, after.observation.turns_left, after.done, after.valid) == (1, 0, True, True)
    assert after.observation.messages == []
    assert before.state_hash != after.observation.state_hash
    with pytest.raises(EpisodeOver):
        one.step("13")


@every_task
def test_a_fork_goes_its_own_way_and_a_snapshot_leads_back(task: Task) -> None:
    trunk = episode(task)
    trunk.reset()
    branch = trunk.fork()
    snapshot = trunk.snapshot()
    trunk.step("a")
    assert trunk.state_hash() != branch.state_hash()
    branch.step("b")
    branch.restore(json.loads(json.dumps(snapshot)))
    branch.step("a")
    assert trunk.state_hash() == branch.state_hash()


@every_task
def test_the_policy_is_not_shown_what_the_grader_sees(task: Task) -> None:
    seen = episode(task).reset()
    known = {"answer", "label", "verified"} & set(seen.item)
    assert known or task.environment == "even_digits"  # whose grader needs none
    assert "item" not in str(seen.messages)
    assert seen.grader["type"]


@every_task
def test_an_environment_that_scores_itself_shows_its_grader_that_score(task: Task) -> None:
    one = episode(task)
    seen = one.reset()
    assert seen.item.get("verified") == one.verify() == (0.0 if task.environment in SCORES_ITSELF else None)
    own = getattr(ENVIRONMENTS[task.environment], "grader", "environment")  # that other runs of it are resolved with
    assert (seen.grader["type"] == own) == (task.environment in SCORES_ITSELF)


@every_task
def test_a_turn_has_what_each_rule_of_its_environment_gave_and_is_paid_their_weighted_sum(task: Task) -> None:
    kind, one = ENVIRONMENTS[task.environment], episode(task)
    weights = kind.rules(checked_params(task.environment, task.params))
    one.reset()
    taken = one.step("a")
    assert taken.rules.keys() == weights.keys()
    assert taken.reward == (sum(weights[rule] * taken.rules[rule] for rule in weights) if weights else None)
    assert bool(weights) == (task is GRADED)


def test_sort_digits_asks_for_its_digits_in_order() -> None:
    for seed in range(50):
        seen = episode(make("sort_digits", {"digits": 5}, seed)).reset()
        prompt = seen.messages[0]["content"]
        assert (prompt[0], prompt[-1], len(prompt)) == ("s", "=", 7)
        assert seen.item == {"prompt": prompt, "answer": "".join(sorted(prompt[1:-1]))}


def test_digits_are_sorted_turn_by_turn_and_a_wrong_one_costs_a_turn() -> None:
    one = episode(make("sort_turns", {"digits": 3, "slack": 1}, 4))
    seen = one.reset()
    low, middle, high = seen.item["answer"]
    assert seen.messages == [{"role": "user", "content": seen.item["prompt"]}]
    wrong = one.step("x")
    assert (wrong.valid, wrong.effect, wrong.observation.messages[0]["content"]) == (False, False, "=")
    answers = [one.step(digit).observation.messages for digit in (low, f" {middle}\n")]
    assert [said[0]["content"] for said in answers] == [f"{low}=", f"{low}{middle}="]
    end = one.step(high)
    assert (end.done, end.observation.messages, end.observation.turns_left, one.verify()) == (True, [], 0, 1.0)
    with pytest.raises(EpisodeOver):
        one.step(high)


def test_turns_that_are_used_up_end_an_episode_unsorted() -> None:
    one = episode(make("sort_turns", {"digits": 3, "slack": 0}, 4))
    answer = one.reset().item["answer"]
    assert [one.step(said).done for said in (answer[0], "+", answer[1])] == [False, False, True]
    assert one.verify() == 0.0


@pytest.mark.parametrize(("said", "length", "compliance", "repetition", "right"), [
    ("{low}", 0, 0, 0, 0), ("{high}", 0, 0, 0, -1), ("x", 0, -1, 0, -1), ("", -1, 0, 0, -1),
    ("{low}{middle}{high}", -1, 0, 0, -1), ("{low} ?", -1, -1, 0, -1),
])
def test_rules_grade_a_digit(said: str, length: float, compliance: float, repetition: float, right: float) -> None:
    one = episode(GRADED)
    low, middle, high = one.reset().item["answer"]
    taken = one.step(said.format(low=low, middle=middle, high=high))
    assert taken.rules == {"length": length, "compliance": compliance, "repetition": repetition, "right": right}
    assert taken.reward == 0.5 * length + compliance + 0.25 * repetition + 2 * right


def test_what_was_wrong_is_repeated_only_at_its_place() -> None:
    one = episode(GRADED)
    low, middle, high = one.reset().item["answer"]
    assert [one.step(said).rules["repetition"] for said in (high, high, low, high, high)] == [0, -1, 0, 0, -1]
    branch = episode(GRADED)
    branch.restore(json.loads(json.dumps(one.snapshot())))
    assert branch.state_hash() == one.state_hash()
    again = [each.step(high) for each in (one, branch)]
    assert again[0] == again[1]
    assert again[0].rules["repetition"] == -1
    assert one.step(middle).rules["repetition"] == 0


def test_rules_change_nothing_but_what_turns_are_paid() -> None:
    plain, graded = (episode(make("sort_turns", {"digits": 3, "rules": rules}, 4)) for rules in ({}, {"right": 1.0}))
    assert plain.reset() == graded.reset()
    for said in ("x", plain.reset().item["answer"][0]):
        taken = plain.step(said)
        assert (taken.reward, taken.rules) == (None, {})
        assert replace(graded.step(said), reward=None, rules={}) == taken


def test_a_state_of_before_there_were_rules_has_the_hash_it_had() -> None:
    one = episode(make("sort_turns", {"digits": 3}, 4))
    prompt = one.reset().item["prompt"]
    one.step("x")
    assert one.snapshot() == {"told": 0, "turns": 1}
    assert one.state_hash() == digest({"answer": "".join(sorted(prompt[1:-1])), "told": 0, "turns": 1,
                                       "opening": [{"role": "user", "content": prompt}]})


@pytest.mark.parametrize(("item", "field"), [
    (None, "dataset"), ({"label": "Yes", "rho": 0.5}, "item.prompt"), ({"prompt": ""}, "item.prompt"),
])
def test_a_judgement_needs_what_its_judge_is_asked(item: dict[str, Any] | None, field: str) -> None:
    with pytest.raises(WrongParams) as wrong:
        make("verification", {}, 0, item)
    assert wrong.value.field == field


def test_a_dataset_row_may_bring_its_messages() -> None:
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "2+3="}]
    params = {"grader": {"type": "numeric"}}
    seen = episode(make("dataset", params, 0, {"messages": messages, "answer": "5"})).reset()
    assert (seen.messages, seen.grader) == (messages, {"type": "numeric"})


@pytest.mark.parametrize(("name", "params", "item", "message"), [
    ("sort_digits", {"digits": 1}, None, "params.digits: found 1, expected greater than or equal to 2"),
    ("sort_digits", {"digits": 13}, None, "params.digits: found 13, expected less than or equal to 12"),
    ("sort_digits", {"digits": "6"}, None, "params.digits: found '6', expected a valid integer"),
    ("sort_digits", {"digit": 6}, None, "params.digit: found 6, expected one of the keys digits"),
    ("sort_words", {}, None, "environment: found 'sort_words', expected one of sort_digits, reasoning_gym, "
     "even_digits, sort_turns, sqlite, phase_lock, sql_exploration, skill_points, hidden_shelf, text_craft, "
     "household, merchant_strategies, table_questions, textworld, dialogue, changing_user, dataset"),
    ("sort_turns", {"rules": {"rigth": 1}}, None, "params.rules.rigth.[key]: found 'rigth', expected 'length', 'compl"),
    ("sort_turns", {"rules": {"right": -1}}, None, "params.rules.right: found -1, expected greater than or equal to 0"),
    ("sqlite", {"questions": ["mean"]}, None, "params.questions: found 'mean', expected names among count, sum, max"),
    ("sqlite", {}, {"prompt": "?", "answer": "1"}, "item.database: found None, expected a text that is not empty"),
    ("sqlite", {}, {"prompt": "?", "answer": "1", "database": "CREATE"}, "a SQLite file in base64 (incomplete input)"),
    ("textworld", {"rooms": 0}, None, "params.rooms: found 0, expected greater than or equal to 1"),
    ("reasoning_gym", {}, None, "params.task: found None, expected a value"),
    ("reasoning_gym", {"task": "legs"}, None, "params.task: found 'legs', expected the name of a reasoning-gym task"),
    ("reasoning_gym", {"task": "leg_counting", "seed": 3}, None,
     "params.seed: found 3, expected one of the keys max_animals, max_instances, min_animals, min_instances"),
    ("reasoning_gym", {"task": "leg_counting", "min_animals": 9, "max_animals": 2}, None, "max_animals must be >= min"),
    ("reasoning_gym", {"task": "leg_counting", "min_animals": "two"}, None,
     "params.min_animals: found 'two', expected a valid integer"),
    ("dataset", {}, None, "item: found None, expected a dataset row"),
    ("dataset", {}, {"answer": "5"}, "item.prompt: found None, expected a text that is not empty"),
    ("dataset", {}, {"messages": []}, "item.messages: found [], expected a list of at least one message"),
    ("dataset", {}, {"messages": ["hi"]}, "item.messages[0]: found 'hi', expected an object with role and content"),
    ("dataset", {}, {"messages": [{"role": "user", "content": 5}]}, "item.messages[0].content: found 5"),
])
def test_a_wrong_field_is_named(name: str, params: dict[str, Any], item: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(WrongParams) as refused:
        episode(make(name, params, 0, item))
    assert message in str(refused.value)


def test_every_environment_describes_its_parameters() -> None:
    for name, kind in ENVIRONMENTS.items():
        assert kind.params.model_json_schema()["type"] == "object"
        assert kind.summary.endswith(".")
        assert kind.harness in HARNESSES
        assert checked_params(name, NEEDED.get(name, {}))
