"""Noise around environments of several turns: a solution still scores 1, and without noise it is the clean episode."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest

from hone.environments import tasks
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import Episode, Task, Transition
from hone.environments.noise.noisy import noisy
from hone.environments.packages.environment import PackagedWorld
from hone.environments.single_turn import Asks
from hone.environments.tasks import episode, make
from hone.environments.tools import ToolCall, tool_call
from hone.resolution import noise
from hone.spec.noise import LOSES, NoiseType, TaskNoise, ToolNoise, UserNoise
from hone.spec.run import RunSpec
from tests.unit.environments.packages.shop import OneShelf, shop

ROW = {"prompt": "What is the sum of b?", "answer": "5.5",
       "database": "CREATE TABLE t (a TEXT, b REAL); INSERT INTO t VALUES ('x', 1), ('y', 2.5), ('z', 2)"}
WORLDS: dict[str, tuple[dict[str, Any], Any]] = {
    "desk": ({}, None), "package": ({"package": "shop"}, None), "dialogue": ({}, None), "sqlite": ({"turns": 12}, ROW),
    "text_craft": ({}, None), "hidden_shelf": ({}, None), "household": ({}, None)}
STEPS: dict[str, list[str]] = {
    "sqlite": [*(ToolCall("query", {"sql": f"SELECT {what} FROM t"}).action() for what in ("*", "sum(b)")), "5.5"],
    "package": [ToolCall("find_order", {"email": "ada@mail.org"}).action(),
                ToolCall("cancel_order", {"order_id": "W1"}).action(), "It is Cancelled."]}
LOOKS = {"desk": ToolCall("list_files", {"folder": "/"}).action(), "text_craft": "inventory", "hidden_shelf": "look",
         "household": "look"}
"""Actions that read: what other actions of a game do changes something, and may not look undone."""
CASES = [(name, kind) for name in WORLDS for kind in get_args(ToolNoise)] + [
    ("dialogue", kind) for kind in get_args(UserNoise)]
BARE = {("package", "error"), ("household", "error")}
"""Where the results of the solution hold nothing that this noise could change."""
_TRIES = 3


@pytest.fixture(autouse=True)
def _package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    world = PackagedWorld()
    world.shelf = OneShelf(shop())
    monkeypatch.setitem(ENVIRONMENTS, "package", world)
    tasks._maker.cache_clear()
    yield
    tasks._maker.cache_clear()


def task(name: str, seed: int) -> Task:
    if name == "household":
        pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")
    params, row = WORLDS[name]
    return make(name, params, seed, row)


def solution(name: str, clean: Any) -> list[str]:
    *before, last = STEPS[name] if name in STEPS else clean.solution()
    return [*before, *([LOOKS[name]] if name in LOOKS else []), last]


def started(asked: Task) -> Any:
    made = episode(asked)
    made.reset()
    return made


def again(made: Episode, taken: Transition, action: str) -> Iterator[Transition]:
    """Yield a step's result, and those of the same action as long as noise hides what it said or did."""
    yield taken
    for _ in range(_TRIES):
        if taken.injection is None or taken.injection["type"] not in LOSES | {"user_ambiguity"}:
            return
        taken = made.step(action)
        yield taken


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_solution_that_asks_again_still_scores_one(name: str, kind: NoiseType) -> None:
    injected = 0
    for seed in (7,) if name == "household" else (2, 7):  # whose planner takes a second
        asked = task(name, seed)
        terms = TaskNoise(type=kind, intensity=2, prob=1.0, seed=seed)
        made, clean = started(replace(asked, noise=terms.model_dump())), started(asked)
        for action in solution(name, clean):
            truth = clean.step(action)
            results = [*again(made, made.step(action), action)]
            injected += sum(one.injection is not None for one in results)
            if results[0].injection is not None:
                assert results[-1].injection is None or kind not in LOSES
            if results[0].injection is not None and kind in LOSES:
                assert results[-1].observation.messages == truth.observation.messages, "it is said again"
        assert (made.verify(), made.inner.verify()) == (1.0, 1.0)
    if (name, kind) not in BARE:
        assert injected


@pytest.mark.parametrize("name", WORLDS)
def test_noise_of_no_intensity_is_the_clean_twin_bit_by_bit(name: str) -> None:
    asked = task(name, 7)
    made, clean = noisy(episode(asked), TaskNoise(type="error", intensity=0)), episode(asked)
    assert made.reset() == clean.reset()
    for action in solution(name, started(asked)):
        assert made.step(action) == clean.step(action)
    assert (made.state_hash(), made.verify()) == (clean.state_hash(), clean.verify())


@pytest.mark.parametrize("name", ["desk", "package", "dialogue", "sqlite"])
def test_a_repaired_tool_says_the_truth_from_then_on(name: str) -> None:
    asked = task(name, 7)
    terms = TaskNoise(type="misleading", intensity=3, prob=1.0, interval=0, most=-1, most_of_tool=-1)
    made, clean = started(replace(asked, noise=terms.model_dump())), started(asked)
    for action in solution(name, clean):
        if (call := tool_call(action)) is not None:
            made.step(ToolCall("repair", {"tool": call.tool}).action())
        assert made.step(action).observation.messages == clean.step(action).observation.messages
    assert made.verify() == 1.0


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_noise_that_cannot_be_is_refused_by_its_field(name: str) -> None:
    asks, user = isinstance(ENVIRONMENTS[name], Asks), "user" in ENVIRONMENTS[name].asked_roles
    alone = f"no noise: {name} asks single questions, without results of tools"
    if asks:
        assert problems(name, "error") == [f"task.noise: found error, expected {alone}"]
    elif not user:
        assert problems(name, "user_conflict") == [
            f"task.noise.types: found user_conflict, expected types of tools alone: {name} has no user"]


def problems(name: str, kind: str) -> list[str]:
    task = {"environment": name, "noise": {"types": [kind]}}
    spec = RunSpec.model_validate({"name": "noisy", "model": {"base": "toy"}, "steps": 2, "task": task})
    return [str(problem) for problem in noise.problems(spec, {})]
