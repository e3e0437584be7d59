"""Formulas over scores: what they mean, what they refuse, and that nothing else comes out of any text."""

import math
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.graders.formula import DEEPEST, LONGEST, FormulaError, parsed

SCORES = {"a": 0.42, "b": 1.0, "zero": 0.0}


@pytest.mark.parametrize(("text", "value"), [
    ("(a+b)/2", 0.71), ("0.5 * a + 0.5 * b", 0.71), ("a", 0.42), (" ( ( b ) ) ", 1.0), (".5e1 + 2.", 7.0),
    ("2 + 3 * 4", 14.0), ("(2 + 3) * 4", 20.0), ("10 - 4 - 3", 3.0), ("24 / 4 / 2", 3.0), ("6 / 2 * 3", 9.0),
    ("2 ^ 3 ^ 2", 512.0), ("-2 ^ 2", -4.0), ("(-2) ^ 2", 4.0), ("2 ^ -1", 0.5), ("2 ^ -2 ^ 0", 0.5), ("--3", 3.0),
    ("2 * -3", -6.0), ("+ - + 3", -3.0), ("zero ^ zero", 1.0), ("-b", -1.0),
    ("min(a, b, 0.1)", 0.1), ("max(a, b)", 1.0), ("min(a)", 0.42), ("abs(-3)", 3.0), ("floor(-0.5)", -1.0),
    ("ceil(0.42)", 1.0), ("exp(0)", 1.0), ("sqrt(16)", 4.0), ("log(exp(1))", 1.0), ("max(min(a, b), 0.5)", 0.5),
])
def test_values(text: str, value: float) -> None:
    assert parsed(text).value(SCORES) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("text", "problem"), [
    ("", "found the end at character 1"), ("a +", "found the end at character 4"), ("(a", "a closing bracket"),
    ("a)", "found ) at character 2"), ("a b", "found b at character 3"), ("a ** 2", "found * at character 4"),
    ("2a", "found a at character 2"), ("a % 2", "found % at character 3"), ("a.b", "character 2"), (".", "found ."),
    ("min()", "found ) at character 5"), ("min(a,)", "found ) at character 7"), ("abs(a, b)", "found 2 values"),
    ("1e999", "beyond all bounds"), ("__import__('os')", "the function __import__"), ("pow(a, 2)", "one of min, max"),
    ("²", "character 1"), ("٣", "character 1"), ("é", "character 1"), ("a; b", "found ;"), ("a\x00", "character 2"),
    ("+" * (LONGEST + 1), f"at most {LONGEST}"), ("(" * (DEEPEST + 1), f"more than {DEEPEST} levels"),
    ("a^" * DEEPEST + "a", f"more than {DEEPEST} levels"), ("-" * DEEPEST + "a", f"more than {DEEPEST} levels"),
])
def test_what_is_no_formula_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(problem)):
        parsed(text)


@pytest.mark.parametrize(("text", "problem"), [
    ("a / zero", "formula_parse_error: / of 0.42, 0"), ("a / (b - b)", "formula_parse_error: /"),
    ("log(zero)", "formula_parse_error: log"), ("sqrt(-b)", "formula_parse_error: sqrt"),
    ("(-8) ^ (1 / 3)", "formula_parse_error: ^"), ("zero ^ -1", "formula_parse_error: ^"),
    ("exp(1000)", "formula_parse_error: exp"), ("10 ^ 300 * 10 ^ 300", "formula_parse_error: *"),
    ("9 ^ 9 ^ 9", "formula_parse_error: ^"), ("c + 1", "invalid_variable_error: c is not among a, b, zero"),
])
def test_a_formula_without_a_finite_value_has_none(text: str, problem: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(problem)):
        parsed(text).value(SCORES)


def test_a_long_chain_needs_no_deep_stack() -> None:
    assert parsed("+".join("a" * (LONGEST // 2))).value({"a": 1.0}) == LONGEST // 2


@pytest.mark.parametrize(("text", "low", "high"), [
    ("(a+b)/2", 0, 1), ("a - b", -1, 1), ("a * b", 0, 1), ("1 - a", 0, 1), ("a ^ b", 0, 1),
    ("a ^ -1", -math.inf, math.inf),
    ("(a - b) ^ 2", 0, 1), ("(a - b) ^ 3", -1, 1), ("a / b", -math.inf, math.inf), ("a / (b + 1)", 0, 1),
    ("(a - b) ^ a", -math.inf, math.inf), ("abs(a - 0.75)", 0, 0.75), ("log(a)", -math.inf, 0), ("exp(a)", 1, math.e),
    ("floor(a) + ceil(b)", 0, 2), ("max(a, 0.5)", 0.5, 1), ("sqrt(a) - min(b, 0.5)", -0.5, 1), ("3", 3, 3),
    ("exp(a * 1000)", 1, math.inf), ("0 * (a / b)", 0, 0), ("a / b - a / b", -math.inf, math.inf),
])
def test_bounds(text: str, low: float, high: float) -> None:
    found = parsed(text).bounds({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    assert found == pytest.approx((low, high), rel=1e-14, abs=0)


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(inner, st.sampled_from("+-*/^"), inner).map(lambda parts: f"({parts[0]}{parts[1]}{parts[2]})")
    applied = st.tuples(st.sampled_from(["abs", "floor", "ceil", "exp", "sqrt", "log", "-", "max", "min"]), inner).map(
        lambda parts: f"{parts[0]}({parts[1]})")
    return joined | applied


FORMULAS = st.recursive(st.sampled_from(["a", "b", "0", "1", "2", "0.5", "3", "1e200"]), _deeper, max_leaves=8)
PIECES = [*"ab  019.e+-*/^(),((()))²\0", "zero", "min(", "max(", "log(", "sqrt(", "exp(", "1e300", "eval(", "{{"]
INSIDE = st.tuples(*[st.floats(-3, 3)] * 3).map(sorted)


@settings(max_examples=300, deadline=None, database=None)
@given(FORMULAS, INSIDE, INSIDE)
def test_every_formula_has_a_finite_value_inside_its_bounds_or_an_error(
        text: str, a: list[float], b: list[float]) -> None:
    formula = parsed(text)
    low, high = formula.bounds({"a": (a[0], a[2]), "b": (b[0], b[2])})
    try:
        value = formula.value({"a": a[1], "b": b[1]})
    except FormulaError:
        return
    assert math.isfinite(value)
    assert low <= value <= high


def test_ten_thousand_texts_are_formulas_or_errors() -> None:
    random, read = Random(0), 0
    for _ in range(10_000):
        text = "".join(random.choices(PIECES, k=random.randrange(1, 12)))
        try:
            value = parsed(text).value(SCORES)
        except FormulaError:
            continue
        assert math.isfinite(value)
        read += 1
    assert read > 200
