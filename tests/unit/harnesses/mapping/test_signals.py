"""map.md's worked example 1: the two signals, their means, and the double stop."""

import pytest

from hone.harnesses.mapping.facts import Fact
from hone.harnesses.mapping.signals import Exploration, Signal, knowledge_increment, means, state_key, stop

A, B, C, D = (Fact(name, "contains", "x") for name in "abcd")
STEPS = [({A, B, C}, "s0"), ({C, D}, "s1"), ({D}, "s1"), ({A, D}, "s0"), ({D}, "s1")]


def signals() -> list[Signal]:
    one = Exploration()
    return [one.saw(found, state) for found, state in STEPS]


def stopped(least_know: float, least_novelty: float, budget: int = 9) -> int | None:
    found = signals()
    return next((t for t in range(1, 6) if stop(found[:t], budget, 3, least_know, least_novelty)), None)


def test_the_signals_and_their_means_are_those_of_the_worked_example() -> None:
    found = signals()
    assert [one.know for one in found] == [1, 0.5, 0, 0, 0]
    assert [one.novelty for one in found] == pytest.approx([1, 1, 0.7071, 0.7071, 0.5774], abs=5e-5)
    assert means(found[:3], 3) == pytest.approx((0.5, 0.9024), abs=5e-5)
    assert means(found[:4], 3) == pytest.approx((0.1667, 0.8047), abs=5e-5)
    assert means(found, 3) == pytest.approx((0, 0.6639), abs=5e-5)
    assert found[0].intrinsic(0.5) == 1
    assert found[2].intrinsic(0.5) == pytest.approx(0.3536, abs=5e-5)
    assert found[1].intrinsic(0.25) == 0.875


@pytest.mark.parametrize(("know", "novelty", "expected"), [
    (0.1, 0.7, 5), (0.1, 1.0, 5), (0.2, 0.85, 4), (0.1, 0.6, None), (1.0, 0.7, 5)])
def test_both_means_have_to_be_low(know: float, novelty: float, expected: int | None) -> None:
    """The second row is the knowledge test alone; the fourth shows that it does not stop by itself."""
    assert stopped(know, novelty) == expected


def test_the_budget_stops_and_a_window_is_always_explored() -> None:
    still = [Signal(0.0, 0.0)] * 3
    assert [stop(still[:t], 9, 3, 0.1, 0.7) for t in (1, 2, 3)] == [None, None, "converged"]
    assert stop(still[:1], 9, 1, 0.1, 0.7) == "converged"
    assert stop(still[:2], 2, 3, 0.1, 0.7) == "budget"
    assert stopped(0, 0, budget=2) == 2


def test_nothing_found_brings_no_knowledge_and_the_first_step_of_a_fact_is_kept() -> None:
    assert knowledge_increment(frozenset(), {A}) == 0
    one = Exploration()
    for found, state in STEPS:
        one.saw(found, state)
    assert one.facts == {A: 1, B: 1, C: 1, D: 2}


def test_a_state_is_its_text_without_counters() -> None:
    assert state_key("You see a Mug.\nStep 3 of 10") == state_key("you see  a mug. step 4 of 10")
    assert state_key("7 turns left. You see a mug.") == state_key("6 turns left. You see a mug.")
    assert state_key("You are at shelf 3.") != state_key("You are at shelf 4.")
