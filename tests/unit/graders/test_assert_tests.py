"""Assertions as tests: what the program gets of them, what it is compared with, and what cannot be held back."""

import json
from typing import Any

import pytest

from hone.graders import assert_tests, program_tests
from hone.graders.assert_tests import NoAssertion, value_held_for_its_test
from hone.graders.contract import InvalidSpec, Status
from hone.graders.program_tests import AssertTest
from hone.sandbox.program import Ended, Outcome, Program, Ran
from tests.support.graders.code import graded


def runs(program: Program) -> Ran:
    """Run a program's calls here, as the sandbox does there. The source is a test's own."""
    names: dict[str, Any] = {}
    exec(program.source, names)
    return Ran(Ended.FINISHED, outcomes=tuple(
        Outcome(json.loads(json.dumps(names[program.function](*call)))) for call in program.calls))


@pytest.mark.parametrize(("text", "expression", "value"), [
    ("assert f(1, (2, 3)) == [4]", "f(1, (2, 3))", [4]), ("assert (1, 2) == f(x=1)", "f(x=1)", (1, 2)),
    ("assert sorted(f([2])) == []", "sorted(f([2]))", []), ("assert f(2) is None, 'why'", "f(2)", None),
    ("assert f(1)", "True if f(1) else False", True), ("assert not s.f(1)", "True if s.f(1) else False", False),
    ("assert f({1: 2}) == {1: {-1, 2}}", "f({1: 2})", {1: {-1, 2}})])
def test_the_expected_side_is_held_back(text: str, expression: str, value: Any) -> None:
    assert assert_tests.read(text) == (expression, value_held_for_its_test(value))


@pytest.mark.parametrize("text", [
    "assert", "f(1) == 2", "assert f(1) == 2; f(2)", "assert f(1) == g(1)", "assert 1 == 1", "assert f(1) < 2",
    "assert isclose(f(1), 0.5)", "assert f(1) == x", "assert f(1) == 1 == 1", "assert f(1) == 2 and f(2) == 3"])
def test_what_would_show_what_is_expected_is_refused(text: str) -> None:
    with pytest.raises(NoAssertion):
        assert_tests.read(text)


def test_rows_hold_a_list_or_a_text_of_assertions() -> None:
    lines = ["assert f(1) == 2", "assert f(2) == (3,)"]
    wanted = [AssertTest(["f(1)"], 2), AssertTest(["f(2)"], {"tuple": [3]})]
    assert program_tests.read(json.dumps(lines), "tests").tests == wanted
    assert program_tests.read("\n".join(lines), "tests").tests == wanted
    with pytest.raises(InvalidSpec, match=r"tests\[1\]: found 'assert g\(\) < 2', expected an assertion whose"):
        program_tests.read(json.dumps(["assert f(1) == 2", "assert g() < 2"]), "tests")
    with pytest.raises(InvalidSpec, match="tests: found 'assert f"):
        program_tests.read("assert f(1", "tests")


@pytest.mark.parametrize(("program", "score"), [
    ("def f(n): return (n, {n})", 1.0), ("def f(n): return [n, {n}]", 0.0), ("def f(n): return (n, {n + 1})", 0.0),
    ("sorted = list = None\ndef f(n): return (n, frozenset([n]))", 1.0)])
def test_a_program_is_graded_by_the_values_of_its_expressions(program: str, score: float) -> None:
    tests = [f"assert f({n}) == ({n}, {{{n}}})" for n in range(3)]
    result, [ran] = graded(runs, f"```python\n{program}\n```", tests)
    assert (result.status, result.score) == (Status.OK, score)
    assert ran.calls == [["f(0)"], ["f(1)"], ["f(2)"]]
    assert "{0}" not in ran.source, "the program never sees what is expected"
