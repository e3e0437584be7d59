"""The spec's examples of memory score and diagnosis, and what is left out."""

import pytest

from hone.remembering.scores import PeriodResult, cause, last_exposed, memory_score, report, upper_bounds

EXPOSED = [{"a", "b"}, {"a"}, set[str](), set[str]()]
KNOWN = [{"a": True, "b": True}, {"a": False, "b": True}, {"a": True, "b": False}, {"a": True, "b": True}]


def test_example_1_memory_score_is_not_clipped() -> None:
    assert memory_score(0.42, 0.18, 0.90) == pytest.approx(1 / 3)
    assert memory_score(0.15, 0.18, 0.90) == pytest.approx(-0.0417, abs=5e-5)
    assert memory_score(0.9, 0.5, 0.5) is None


def test_example_2_a_failure_has_one_cause() -> None:
    found = [cause(right, ["a", "b"], KNOWN, EXPOSED, t) for t, right in enumerate([True, False, False, False])]
    assert found == [None, "write", "read", "utilization"]


def test_what_was_exposed_again_and_is_unknown_is_a_write_failure() -> None:
    known = [{"a": True}, {"a": False}]
    assert cause(False, ["a", "a"], known, [{"a"}, {"a"}], 1) == "write"
    assert cause(False, ["a", "a"], known, [{"a"}, {"b"}], 1) == "read"


def test_one_value_that_was_never_written_makes_a_write_failure() -> None:
    known = [{"a": True, "b": False}, {"a": False, "b": False}]
    assert cause(False, ["a", "b"], known, [{"a", "b"}, set()], 1) == "write"


def test_a_variable_that_nothing_exposed_has_no_last_period() -> None:
    assert last_exposed(EXPOSED, 3, "a") == 1
    with pytest.raises(ValueError, match="c: found no period up to 3"):
        last_exposed(EXPOSED, 3, "c")


def result(t: int, right: tuple[bool, ...], upper: float = 1.0) -> PeriodResult:
    causes = tuple(None if one else "write" for one in right)
    return PeriodResult(t, right, (0.25,) * len(right), (upper,) * len(right), {"a": True}, causes)  # type: ignore[arg-type]


def test_a_period_without_a_score_is_left_out_and_counted() -> None:
    found = report([result(0, (True, True)), result(1, (True, False)), result(1, (False, False), upper=0.25)])
    assert found.memory_score == pytest.approx((1.0 + 1 / 3) / 2)
    assert found.left_out == 1
    assert found.curve == {0: 1.0, 1: pytest.approx(1 / 3)}
    assert found.accuracy + found.write + found.read + found.utilization == pytest.approx(1.0)
    assert found.known == {"a": (3, 3)}
    none = report([result(0, (True,), upper=0.25)])
    assert (none.memory_score, none.left_out) == (None, 1)
    with pytest.raises(ValueError, match="results: found none"):
        report([])


def test_upper_bounds_are_of_a_question_and_its_values() -> None:
    table: dict[tuple[int, tuple[str, ...]], float] = {(0, ("yes", "no")): 1.0, (1, ("yes", "no")): 0.0}
    assert upper_bounds(table, [("yes", "no"), ("yes", "no")]) == [1.0, 0.0]
    with pytest.raises(KeyError):
        upper_bounds(table, [("no", "no")])
