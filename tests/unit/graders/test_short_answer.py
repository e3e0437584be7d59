"""Short answers by rules: right, wrong, or nothing that a rule can tell."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from hone.graders.contract import Status
from hone.graders.judgement import judged
from hone.graders.right_answers import Ending, Standing
from hone.graders.right_answers import checked as reference
from hone.graders.short_answers import decided, extracted
from hone.graders.specs import checked


@pytest.mark.parametrize(("output", "answer"), [
    (r"\boxed{6} or \boxed{7}", "7"), (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"), ("The answer is 5.\nI am sure.", "5"),
    ("**Answer:** B", "B"), ("So\nthe answer is:\n\n  **7**\n", "7"), ("One.\nTwo.", "Two"), ("", None),
    (r"\boxed{6", None), (r"\boxed{}", None), ("The answer is", "The answer is"),
])
def test_the_answer_in_an_output(output: str, answer: str | None) -> None:
    assert extracted(output) == answer


@pytest.mark.parametrize(("answer", "row", "kind", "right", "by"), [
    ("7", "7", "number", True, "rule"), ("8", "7", "number", False, "rule"), ("seven", "7", "number", None, None),
    ("5/10", "1/2", "auto", True, "rule"), ("4", "3 or 4", "number", True, "rule"),
    ("Let me see: 7", "7", "number", None, None), ("5", "3 or 4", "number", False, "rule"),
    ("6 cm", "5", "number", False, "rule"), ("50%", "50", "number", True, "rule"),
    ("3.0000001", "3", "number", False, "rule"),
    ("(1,2)", "[1,2]", "interval", False, "rule"), ("x > 3", r"(3,\infty)", "interval", True, "rule"),
    ("1 to 2", "(1,2)", "interval", None, None), ("0.4", "12:30", "number", None, None),
    ("12:30", "12:30", "number", True, "string"), ("12:45", "12:30", "text", False, "string"),
    ("2:05 P.M.", "2:05pm", "auto", True, "string"), ("2:05", "2:05pm", "time", None, None),
    ("12:30", "5", "number", None, None),
    ("(b) Paris", "B", "single_choice", True, "string"), ("C", "B", "auto", False, "string"),
    ("Paris", "B", "single_choice", None, None), ("A, C and D", "DCA", "multiple_choice", True, "string"),
    ("AC", "ACD", "multiple_choice", False, "string"), ("all", "ACD", "multiple_choice", None, None),
    ("C > A > B", "CAB", "text", True, "string"), ("BAC", "CAB", "order", False, "string"),
    ("taxi", "CAB", "text", None, None),
    ("New York.", "new york", "text", True, "string"), ("NYC", "new york", "text", None, None),
])
def test_each_type(answer: str, row: str, kind: Any, right: bool | None, by: str | None) -> None:
    found = decided(rf"\boxed{{{answer.replace('%', chr(92) + '%')}}}", row, kind)
    assert (found.right, found.by) == (right, by)
    official = decided(rf"\boxed{{{answer}}}", row, kind, strict=False)
    assert official.right in ((True, None) if by == "rule" and right else (None,))


def test_an_output_without_an_answer_is_wrong_and_a_long_one_is_for_a_judge() -> None:
    assert decided("", "7").right is False
    assert decided("", "7").by == "extraction"
    assert decided(rf"\boxed{{{'7' * 3000}}}", "7").right is None


def test_decimals_are_compared_with_the_places_of_the_row() -> None:
    assert [decided(answer, "0.33", "number", 2).right for answer in ("0.3349", "0.336", "1/3")] == [True, False, True]
    assert [decided(answer, "3", "number", 2).right for answer in ("3.001", "3.0")] == [False, True]


def _fraction(random: Random) -> tuple[str, str]:
    return f"{random.choice([1, 3, 5])}/{random.choice([4, 8])}", f"{random.choice([7, 9, 11])}/{random.choice([4, 8])}"


def _time(random: Random) -> tuple[str, str]:
    hour = random.randrange(1, 12)
    return f"{hour}:30", f"{hour}:{random.choice([15, 45])}"


def _letters(random: Random) -> tuple[str, str]:
    some = random.sample("ABCDE", 3)
    return "".join(some), "".join(some[:2])


def _sequence(random: Random) -> tuple[str, str]:
    some = random.sample("ABCD", 3)
    return "".join(some), "".join(some[::-1])


KINDS: dict[str, tuple[str, Callable[[Random], tuple[str, str]], list[Callable[[str], str]]]] = {
    "integer": ("number", lambda random: (str(random.randrange(50)), str(random.randrange(50, 99))), [
        lambda one: f"{one}.0", lambda one: f"{one} apples", lambda one: f"x = {one}"]),
    "fraction": ("number", _fraction, [lambda one: str(int(one[0] + one[1:2].strip("/")) / int(one.split("/")[1])),
                                       lambda one: rf"\frac{{{one.split('/')[0]}}}{{{one.split('/')[1]}}}"]),
    "time": ("text", _time, [lambda one: rf"\text{{{one}}}"]),
    "letter": ("single_choice", lambda _random: ("B", "C"), [lambda one: f"({one})", lambda one: f"{one}. the text"]),
    "letters": ("multiple_choice", _letters, [", ".join, lambda one: " and ".join(reversed(one))]),
    "order": ("text", _sequence, [" > ".join, ", ".join]),
    "percent": ("number", lambda random: (f"{random.randrange(9)}5%", f"{random.randrange(9)}4%"), [
        lambda one: one.replace("%", r"\%"), lambda one: one.removesuffix("%")]),
    "words": ("text", lambda _random: ("the red house", "the blue house"), [str.upper, lambda one: f"{one}."]),
}


def test_rules_and_a_judge_are_nearly_always_right_and_the_judge_is_seldom_asked() -> None:
    """The kinds of General365's trial: half of the answers wrong, in several forms, a judge that is right in 97%."""
    random, asked, right = Random(0), 0, 0
    for number in range(800):
        kind, made, forms = KINDS[sorted(KINDS)[number % 8]]
        wanted, other = made(random)
        is_right = random.random() < 0.5
        answer = random.choice([lambda one: one, *forms])(wanted if is_right else other)
        framed = random.choice(["Let me see.\n{}", r"First \boxed{{0}}, no: \boxed{{{}}}", "Thus the answer is {}"])
        found = decided(framed.format(answer), wanted, kind)  # type: ignore[arg-type]
        asked += found.right is None
        judge = is_right if random.random() < 0.97 else not is_right
        right += (judge if found.right is None else found.right) == is_right
    assert right / 800 >= 0.99
    assert asked / 800 < 0.15


@pytest.mark.parametrize(("row", "output", "status", "score", "by"), [
    ({"answer": "B", "answer_type": "single_choice"}, "B", Status.OK, 1.0, "string"),
    ({"answer": "B", "answer_type": "text"}, "b or c", Status.OK, 0.0, "undecided"),
    ({"answer": "B", "answer_type": "text"}, r"\boxed{", Status.NO_ANSWER, 0.0, "no_answer"),
    ({"answer": "B", "answer_type": "texts"}, "B", Status.INVALID_SPEC, None, "invalid_spec"),
    ({"answer": " ", "answer_type": "text"}, "B", Status.INVALID_SPEC, None, "invalid_spec"),
])
def test_the_grader(row: dict[str, str], output: str, status: Status, score: float | None, by: str) -> None:
    result = judged(checked({"type": "short_answer", "answer_type": "{{ item.answer_type }}"}), row, output)
    assert (result.status, result.score, result.decided_by) == (status, score, by)


@pytest.mark.parametrize(("row", "standing"), [
    ("7", Standing.RIGHT), ("3 or 4", Standing.RIGHT), ("A, C", Standing.RIGHT), ("2:05 pm", Standing.RIGHT),
    ("the red house", Standing.RIGHT), ("[1, 2)", Standing.RIGHT), (r"\frac{", Standing.WRONG),
])
def test_a_rows_reference_is_graded(row: str, standing: Standing) -> None:
    assert reference(checked({"type": "short_answer"}), {"answer": row}, Ending()).standing is standing
