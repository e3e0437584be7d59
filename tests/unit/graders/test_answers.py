"""Answers are found in outputs, and references have a kind."""

import pytest

from hone.graders.algebra.tex import braced
from hone.graders.answer_types import answer_type
from hone.graders.answers import boxed_together, last_tagged
from hone.text.boxes import last_boxed


@pytest.mark.parametrize(("text", "content"), [
    (r"\boxed{1}", "1"),
    (r"\boxed{1} and \boxed{2}", "2"),
    (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
    (r"\boxed{a \boxed{b} c}", r"a \boxed{b} c"),
    (r"\boxed {\{1,2\}}", r"\{1,2\}"),
    (r"{ { \boxed{1} ", "1"),
    (r"} \boxed{1}", "1"),
    (r"\boxed{oh \boxed{1}", "1"),
    (r"\boxed{1} \boxed{2", None),
    (r"\boxed{1", None),
    ("1", None),
    (r"\\boxed{1}", None),
])
def test_last_boxed(text: str, content: str | None) -> None:
    assert last_boxed(text) == content


@pytest.mark.parametrize(("text", "contents"), [
    (r"\boxed{1}, \boxed{2}", ["1", "2"]),
    (r"$x = \boxed{1}$ and $y_2 = \boxed{2}$.", ["1", "2"]),
    (r"\boxed{1} or maybe it is \boxed{2}", ["1", "2"]),
    (r"\boxed{1}. So the sum is \boxed{2}", ["2"]),
    (r"\boxed{1}. Thus \boxed{2} and \boxed{3}", ["2", "3"]),
    (r"\boxed{2}. \boxed{2}", ["2"]),
    ("2", []),
])
def test_boxes_of_one_answer(text: str, contents: list[str]) -> None:
    assert boxed_together(text) == contents


@pytest.mark.parametrize(("text", "content"), [
    ("<answer>1</answer> <answer>2</answer>", "2"),
    ("<answer>1</answer> <answer>2", "1"),
    ("1</answer>", None),
    ("", None),
])
def test_last_tagged(text: str, content: str | None) -> None:
    assert last_tagged(text) == content


@pytest.mark.parametrize(("tex", "in_braces"), [
    (r"\frac12", r"\frac{1}{2}"),
    (r"\frac123", r"\frac{1}{2}3"),
    (r"\frac{1}2", r"\frac{1}{2}"),
    (r"\frac1{72}", r"\frac{1}{72}"),
    (r"\dfrac ab", r"\dfrac{a}{b}"),
    (r"\frac\pi2", r"\frac{\pi}{2}"),
    (r"2\sqrt2", r"2\sqrt{2}"),
    (r"\sqrt[3]8", r"\sqrt[3]{8}"),
    (r"\frac{\sqrt2}{\frac12}", r"\frac{\sqrt{2}}{\frac{1}{2}}"),
    (r"\frac{1}{2}", r"\frac{1}{2}"),
    (r"\sqrt{2", r"\sqrt{2"),
    (r"\frac", r"\frac"),
    ("x+1", "x+1"),
])
def test_tex_arguments_get_their_braces(tex: str, in_braces: str) -> None:
    assert braced(tex) == in_braces


@pytest.mark.parametrize(("reference", "kind"), [
    ("B", "letter"), ("x", "letter"), ("12:30", "time"), ("3:2", "symbolic"), ("ABC", "order"), ("a > b > c", "order"),
    ("blue", "words"), ("New York", "words"), ("None", "words"), ("x-y", "symbolic"), ("2", "symbolic"),
    (r"\frac{1}{2}", "symbolic"), (r"\text{blue}", "words"), (r"10\text{ cm}", "symbolic"), ("", "symbolic"),
])
def test_answer_type(reference: str, kind: str) -> None:
    assert answer_type(reference) == kind
