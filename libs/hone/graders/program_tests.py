"""Tests of a program, as task rows hold them, and whether what a program gave is what a test expects."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hone.graders import assert_tests
from hone.graders.contract import InvalidSpec

MOST = 1000
"""Tests of a row."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"([+-]?)0*([0-9]+)")
_SHAPES = ('a list of tests {"input": text, "output": text} or {"args": list, "expected": value}, '
           'or {"inputs": list, "outputs": list}, or a list of assertions')


@dataclass(frozen=True)
class StdinTest:
    """Standard input of a whole script, and its expected standard output."""

    input: str
    output: str


@dataclass(frozen=True)
class CallTest:
    """The arguments of a call, and the value that it has to return. All are values of JSON."""

    args: list[Any]
    expected: Any


@dataclass(frozen=True)
class AssertTest(CallTest):
    """An expression, the only argument, whose value the program gives as `assert_tests` writes it."""


Test: TypeAlias = StdinTest | CallTest


@dataclass(frozen=True)
class Tests:
    """Tests of one kind, and the name of the function that the row itself gives to them; empty: none."""

    tests: list[Test]
    function: str = ""


def read(text: str, field: str) -> Tests:
    """Return the tests in a JSON text. Raises InvalidSpec, which names the field, what was found and what was expected.

    LiveCodeBench's tests (`testtype` functional) have one argument a line. The tests of APPS are two lists.
    """
    try:
        given = assert_tests.split(text) if text.lstrip().startswith("assert ") else json.loads(text)
    except assert_tests.NoAssertion as error:
        raise _wrong(field, text, str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _wrong(field, text, f"JSON ({error})") from error
    tests = _listed(given, field) if isinstance(given, dict) else given
    if not isinstance(tests, list) or not 1 <= len(tests) <= MOST:
        raise _wrong(field, f"{len(tests)} tests" if isinstance(tests, list) else given, f"{_SHAPES}, 1 to {MOST}")
    found = [_test(one, f"{field}[{place}]") for place, one in enumerate(tests)]
    if len({type(one) for one in found}) > 1:
        raise _wrong(field, "tests of both kinds", "tests by standard input alone, or by calls alone")
    return Tests(found, str(given.get("fn_name") or "") if isinstance(given, dict) else "")


def _listed(given: Mapping[str, Any], field: str) -> list[Any]:
    """Return the tests of two lists, which are calls where a function is named."""
    inputs, outputs = given.get("inputs"), given.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise _wrong(field, given, f"{_SHAPES}, lists of the same length")
    names = ("args", "expected") if given.get("fn_name") else ("input", "output")
    return [dict(zip(names, pair, strict=True)) for pair in zip(inputs, outputs, strict=True)]


def _test(given: Any, field: str) -> Test:
    if isinstance(given, str):
        return _asserted(given, field)
    if not isinstance(given, dict):
        raise _wrong(field, given, "an object, or an assertion")
    if "args" in given and "expected" in given:
        if not isinstance(given["args"], list):
            raise _wrong(f"{field}.args", given["args"], "a list of arguments")
        return CallTest(given["args"], given["expected"])
    for name in ("input", "output"):
        if not isinstance(given.get(name), str) or not _is_text(given[name]):
            raise _wrong(f"{field}.{name}", given.get(name), "a text, or args and expected")
    return _by_lines(given, field) if given.get("testtype") == "functional" else StdinTest(
        given["input"], given["output"])


def _asserted(given: str, field: str) -> AssertTest:
    try:
        expression, expected = assert_tests.read(given)
    except assert_tests.NoAssertion as error:
        raise _wrong(field, given, str(error)) from error
    return AssertTest([expression], expected)


def _is_text(text: str) -> bool:
    """Return whether a program can read a text: half a character of JSON is none."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _by_lines(given: Mapping[str, str], field: str) -> CallTest:
    try:
        return CallTest([json.loads(line) for line in given["input"].splitlines() if line.strip()],
                        json.loads(given["output"]))
    except (ValueError, RecursionError) as error:
        raise _wrong(field, given["input"], f"an argument a line, and an output, in JSON ({error})") from error


def _wrong(field: str, found: Any, expected: str) -> InvalidSpec:
    shown = found if isinstance(found, str) else json.dumps(found)
    return InvalidSpec(f"other_error: {field}: found {shown[:100]!r}, expected {expected}")


def same_output(written: str, expected: str, tolerance: float) -> bool:
    """Return whether two outputs are equal, but for white space at the end.

    Or else their lines are: without white space around them, or number by number where a line has finite numbers
    alone. These may differ by `tolerance`, unless both are whole.
    """
    if written.rstrip() == expected.rstrip():
        return True
    one, other = (text.rstrip().splitlines() for text in (written, expected))
    return len(one) == len(other) and all(_same_line(*pair, tolerance) for pair in zip(one, other, strict=True))


def _same_line(written: str, expected: str, tolerance: float) -> bool:
    one, other = written.split(), expected.split()
    return written.strip() == expected.strip() or (
        len(one) == len(other) and all(_same_token(*pair, tolerance) for pair in zip(one, other, strict=True)))


def _same_token(written: str, expected: str, tolerance: float) -> bool:
    if not (_NUMBER.fullmatch(written) and _NUMBER.fullmatch(expected)):
        return False
    one, other = _WHOLE.fullmatch(written), _WHOLE.fullmatch(expected)
    if one and other:
        return one[2] == other[2] and ((one[1] == "-") == (other[1] == "-") or one[2] == "0")
    return _near(float(written), float(expected), tolerance)


def same_value(returned: Any, expected: Any, tolerance: float) -> bool:
    """Return whether two values of JSON are equal. Numbers may differ by `tolerance`, unless both are whole."""
    try:
        return _same(returned, expected, tolerance)
    except RecursionError:
        return False


def _same(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or (not (isinstance(one, int) and isinstance(other, int)) and _near(one, other, tolerance))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(*pair, tolerance) for pair in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], tolerance) for key in one)
    return type(one) is type(other) and bool(one == other)


def _near(one: float, other: float, tolerance: float) -> bool:
    try:
        return math.isfinite(one) and math.isfinite(other) and abs(one - other) <= tolerance
    except OverflowError:  # a whole number beyond all floats
        return False
