"""Tests of programs: how rows hold them, and when an output or a value is the expected one."""

import json
from typing import Any

import pytest

from hone.graders import program_tests
from hone.graders.contract import InvalidSpec
from hone.graders.program_tests import CallTest, StdinTest, same_output, same_value


@pytest.mark.parametrize(("given", "tests", "function"), [
    ([{"input": "1\n", "output": "2\n"}], [StdinTest("1\n", "2\n")], ""),
    ([{"args": [1, [2]], "expected": None}], [CallTest([1, [2]], None)], ""),
    ([{"input": "1\n", "output": "2", "testtype": "stdin"}], [StdinTest("1\n", "2")], ""),
    ([{"input": '[1, 2]\n"a"', "output": "[3]", "testtype": "functional"}], [CallTest([[1, 2], "a"], [3])], ""),
    ({"inputs": ["1", "2"], "outputs": ["3", "4"]}, [StdinTest("1", "3"), StdinTest("2", "4")], ""),
    ({"inputs": [[1]], "outputs": [2], "fn_name": "f"}, [CallTest([1], 2)], "f")])
def test_rows_hold_tests_in_several_shapes(given: Any, tests: list[Any], function: str) -> None:
    found = program_tests.read(json.dumps(given), "tests")
    assert (found.tests, found.function) == (tests, function)


@pytest.mark.parametrize(("text", "words"), [
    ("not JSON", "tests: found 'not JSON', expected JSON"), ("[]", "tests: found '0 tests', expected a list"),
    ("3", "tests: found '3', expected a list"), ('[{"input": 1, "output": ""}]', r"tests\[0\].input: found '1'"),
    ('[{"input": "", "output": "\\ud800"}]', r"tests\[0\].output"), ("[7]", r"tests\[0\]: found '7'"),
    ('[{"args": 1, "expected": 2}]', r"tests\[0\].args: found '1', expected a list"),
    ('{"inputs": ["1"], "outputs": []}', "lists of the same length"),
    ('[{"input": "{", "output": "1", "testtype": "functional"}]', r"tests\[0\]: found '{', expected an argument"),
    ('[{"args": [], "expected": 2}, {"input": "", "output": ""}]', "found 'tests of both kinds'")])
def test_what_is_wrong_with_tests_is_named(text: str, words: str) -> None:
    with pytest.raises(InvalidSpec, match=words):
        program_tests.read(text, "tests")


@pytest.mark.parametrize(("written", "expected", "equal"), [
    ("3\n", "3", True), ("3\n\n", "3\n", True), ("3 \n 4", "3\n4\n", True), ("3\n\n4", "3\n4", False),
    ("0.3333", "0.33333", True), ("0.334", "0.33", False), ("yes\n1.0", "yes\n1.0004", True),
    ("x 1.0", "x 1.0004", False), ("1 2", "1  2", True), ("12", "1 2", False),
    ("nan", "nan", True), ("nan", "1", False), ("inf", "1e999", False), ("1_0", "10.0", False), ("1e0", "1", True),
    ("12345678901234567891", "12345678901234567892", False), ("007", "7", True), ("-0", "0", True), ("-7", "7", False),
    ("", "1", False), ("YES", "yes", False)])
def test_outputs_are_compared_whole_then_by_lines_then_by_numbers(written: str, expected: str, equal: bool) -> None:
    assert same_output(written, expected, 1e-3) is equal


@pytest.mark.parametrize(("returned", "expected", "equal"), [
    (1, 1, True), (1.0, 1, True), (1.0005, 1, True), (1.01, 1, False), (10**400, 1.5, False), (2**60, 2**60 + 1, False),
    (True, 1, False), (True, True, True), ("1", 1, False), (None, None, True), (None, False, False),
    ([1, [2.0001]], [1, [2]], True), ([1], [1, 1], False), ({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {"b": 1}, False),
    (float("nan"), float("nan"), False), (float("inf"), 1.0, False)])
def test_values_are_compared_as_json(returned: Any, expected: Any, equal: bool) -> None:
    assert same_value(returned, expected, 1e-3) is equal
