"""Self-verify's schedule: the updates of each mode, and the times when the buffer is emptied."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from hone.algorithms.method import Method
from hone.algorithms.self_verify import PhaseInputs, PhaseParams, Update, phases

PHASES: Method[Any, Any] = Method(phases, PhaseParams)


def plan(steps, prompts=4, fresh=None, seed=0, **params):
    """Return each step's updates, and the buffer after it; step s gives items s.0, s.1, …."""
    random, planned = Random(seed), []
    state: Mapping[str, Any] = {}
    for step in range(1, steps + 1):
        count = prompts if fresh is None else fresh
        items = [f"{step}.{place}" for place in range(count)]
        updates, state, metrics = PHASES(PhaseInputs(step, prompts, items, random), params, state)
        assert metrics["verification_updates"] == sum(bool(update.items) for update in updates)
        assert metrics["generation_updates"] == sum(update.generation for update in updates)
        assert metrics["buffered_items"] == len(state.get("buffer", []))
        planned.append((updates, state.get("buffer", [])))
    return planned


def of(steps, count=4):
    return [f"{step}.{place}" for step in steps for place in range(count)]


GENERATION = Update(True, [])


def test_generate_never_verifies():
    assert plan(3, mode="generate") == [([GENERATION], [])] * 3


def test_self_verify_makes_one_update_of_every_steps_items_and_none_of_generation():
    assert plan(2, mode="self_verify") == [([Update(False, of([step]))], []) for step in (1, 2)]


def test_property_6_without_items_self_verify_updates_nothing():
    assert plan(2, mode="self_verify", fresh=0) == [([], [])] * 2


def test_verify_init_is_self_verify_then_generate():
    assert plan(3, mode="verify_init", init_steps=2) == [*plan(2, mode="self_verify"), ([GENERATION], [])]


@pytest.mark.parametrize("fresh", [0, 3])
def test_mixed_is_one_update_of_both(fresh):
    assert plan(2, mode="mixed", fresh=fresh) == [([Update(True, of([step], fresh))], []) for step in (1, 2)]


def test_verify_alter_is_the_default_every_fifth_step():
    planned = plan(10)
    assert [len(updates) for updates, _ in planned] == [1, 1, 1, 1, 2, 1, 1, 1, 1, 2]
    assert all(updates[0] == GENERATION for updates, _ in planned)


def test_a_phase_draws_from_the_items_of_earlier_steps_only():
    updates, _ = plan(3, interval=3, looplen=9)[-1]
    drawn = [item for update in updates[1:] for item in update.items]
    assert sorted(drawn) == of([1, 2])
    assert drawn != of([1, 2])
    assert [len(update.items) for update in updates[1:]] == [4, 4]


def test_property_7_the_buffer_empties_then_holds_the_steps_items():
    buffers = [buffer for _, buffer in plan(6, interval=3)]
    assert buffers == [of([1]), of([1, 2]), of([3]), of([3, 4]), of([3, 4, 5]), of([6])]


@pytest.mark.parametrize(("prompts", "fresh", "looplen", "sizes"), [
    (4, 4, 1, [4]), (5, 4, 1, [4]), (5, 3, 2, [4, 2]), (4, 3, 1, [4]), (4, 3, 5, [4, 2]), (4, 1, 1, [2]), (4, 0, 1, []),
])
def test_batches_of_twice_half_the_prompts_the_last_may_be_short(prompts, fresh, looplen, sizes):
    updates, _ = plan(3, prompts, fresh, interval=3, looplen=looplen)[-1]
    assert [len(update.items) for update in updates[1:]] == sizes


def test_an_interval_of_one_finds_the_items_of_the_step_before():
    drawn = [sorted(item for update in updates for item in update.items) for updates, _ in plan(3, interval=1)]
    assert drawn == [[], of([1]), of([2])]


def test_the_seed_decides_the_draw():
    assert plan(10, seed=3) == plan(10, seed=3)
    assert plan(10, seed=3) != plan(10, seed=4)


def test_property_5_an_interval_beyond_the_run_is_generate():
    alternating, generating = plan(9, interval=10), plan(9, mode="generate")
    assert [updates for updates, _ in alternating] == [updates for updates, _ in generating]
    random = Random(1)
    before = random.getstate()
    PHASES(PhaseInputs(9, 4, of([9]), random), {"interval": 10}, {"buffer": of([1])})
    assert random.getstate() == before
