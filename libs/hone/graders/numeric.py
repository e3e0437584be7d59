"""The number that an answer names, or its list of numbers, compared with the reference within a tolerance."""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from pydantic import Field

from hone.graders.answers import box, boxed_together, last_tagged, tag
from hone.graders.contract import Grader, GraderParams, InvalidSpec, Mark, NoAnswer, Result, RightOutput, verdict
from hone.graders.numbers import DecimalMark, Written, legible, written
from hone.graders.sample import Item
from hone.graders.templates import Template, of_row, rendered

MILLIONTH = Fraction(1, 10**6)
_WINDOW = 4000
"""Characters at the end of an unmarked output that are read first."""

_MARKED = re.compile(r"(?<!#)####(?!#)[ \t]*([^\n]{1,400})")
_DIGIT = re.compile(r"[\d½¼¾⅓⅔]")
_ITEM = re.compile(r"\d+[.):][ \t]+[A-Za-z]")
_LEAD = re.compile(r"[^A-Za-z]*(?:(?:the )?(?:final )?answer(?: is)?|[A-Za-z]\w{0,9}[ ]?=)?[^A-Za-z]*", re.IGNORECASE)
_UNIT = r"(?:[ ]?[A-Za-z°]++(?:/[A-Za-z]+)?(?:\^\{?[0-9]\}?)?(?=[ ]?(?:[,;&]|(?:and|or)\b)))?+"
_BETWEEN = re.compile(
    rf"{_UNIT}(?:[\s,;&(){{}}\[\]$€£¥₹%|]|\\[(){{}}\[\],;:! %$]|(?:and|or)\b"
    r"|[A-Za-z]\w{0,9}(?:_\{\w{1,9}\})?[ ]?[=:])*+")
"""Separator of two numbers of a list."""
_OR = re.compile(rf"{_UNIT}[\s,;(){{}}$]*or\b[\s(){{}}$€£¥₹]*")
_OPERATOR = re.compile(
    r"[*+^!<>√π∞≤≥]|\\(?:sqrt|pi|times|cdot|log|ln|exp|sin|cos|tan|infty|theta|binom|sum|int)(?![A-Za-z])|-[\s({\[]*$")
_GLUED = re.compile(r"[*+/!-]|(?![mslghdNJWVKACF])[A-Za-z](?![A-Za-z])")


class NumericParams(GraderParams):
    """The tolerance. Equal numbers have |answer - reference| <= max(abs_tolerance, rel_tolerance * |reference|)."""

    type: Literal["numeric"] = Field(description="Name of the grader.")
    reference: Template = Field(
        "{{ item.answer }}", description="A number or a list of numbers. Of a text with ####, a box or an answer tag, "
        "only the marked part counts.")
    abs_tolerance: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Largest difference of equal numbers. null: a millionth, but at "
        "most a millionth of the reference.")
    rel_tolerance: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="Largest difference of equal numbers, as a share of the reference.")
    decimal_mark: DecimalMark = Field(
        "point", description="How a number with one mark is read: point: 1.234 is about one, 1,234 about a thousand; "
        "comma: the other way round.")


def grade(item: Item, output_text: str, params: NumericParams) -> Result:
    """Score 1 when the answer holds the reference's numbers in their order, and 0 otherwise."""
    wanted = _reference(rendered(params.reference, item, output_text), params.decimal_mark)
    content = _marked(output_text)
    if content is not None:
        return _marked_verdict(content, wanted, params)
    numbers, text = _last_list(output_text, len(wanted), params.decimal_mark)
    if len(wanted) > 1:
        answer = text[numbers[0].place.start:numbers[-1].place.stop]
        return verdict(_equal(wanted, numbers, params), answer, "last-list")
    hedged = len(numbers) > 1 and _OR.fullmatch(legible(_between(text, numbers[-2], numbers[-1]))) is not None
    return verdict(not hedged and _equal(wanted, numbers[-1:], params), text[numbers[-1].place], "last-number")


def _reference(text: str, mark: DecimalMark) -> list[Written]:
    """Return the reference's numbers. Raises InvalidSpec where it is not one finite number or a list of them."""
    try:
        content = _marked(text)
    except NoAnswer as error:
        raise InvalidSpec(f"other_error: the reference: {error}") from None
    plain = legible(text if content is None else content)
    numbers = _members(plain, mark)
    if numbers is None:
        raise InvalidSpec(f"other_error: the reference {text[:200]!r} holds several numbers among other text, expected "
                          r"a single number, a list such as 3, 5, or the answer after #### or in \boxed{}")
    if not numbers or not all(number.values for number in numbers):
        raise InvalidSpec(f"other_error: the reference {text[:200]!r} holds no finite number, or a number inside "
                          "an expression; the math grader reads expressions")
    return numbers


def _marked(text: str) -> str | None:
    r"""Return the answer after the last ####, or else in the last box, or else in the last <answer>, or None.

    Raises NoAnswer when the last box is not closed.
    """
    lines = [match[1] for match in _MARKED.finditer(text) if not _is_heading(match[1])]
    if lines:
        return lines[-1].strip()
    boxed = boxed_together(text)
    return ", ".join(boxed) if boxed else last_tagged(text)


def _is_heading(line: str) -> bool:
    """Return whether the line after #### is a heading (`Step 3`, `2. Add them`) and names no number (`42 per day`)."""
    digit = _DIGIT.search(line)
    if digit is None or digit.start() > 60 or _ITEM.match(line, digit.start()):
        return True
    return not _LEAD.fullmatch(re.sub(r"\\[A-Za-z]+", " ", line[:digit.start()]))


def _marked_verdict(content: str, wanted: list[Written], params: NumericParams) -> Result:
    plain = legible(content)
    numbers = _members(plain, params.decimal_mark)
    if numbers == []:
        raise NoAnswer(f"no number in the answer {content[:200]!r}")
    right = numbers is not None and _is_plain(content, plain, numbers) and _equal(wanted, numbers, params)
    return verdict(right, content.strip(), "marked")


def _members(text: str, mark: DecimalMark) -> list[Written] | None:
    """Return the numbers of a legible text when they are one list; None when other text stands between them.

    Of an equation such as 3 + 4 = 7 the last side counts.
    """
    for start in (0, text.rfind("=") + 1):
        numbers = list(written(text, mark, start))
        if all(_BETWEEN.fullmatch(_between(text, one, other)) for one, other in pairwise(numbers)):
            return numbers
    return None


def _between(text: str, one: Written, other: Written) -> str:
    return text[one.place.stop:other.place.start]


def _is_plain(content: str, text: str, numbers: Sequence[Written]) -> bool:
    """Return whether no operator stands beside the numbers: 3+4 and 2x are no plain numbers."""
    start = text.rfind("=", 0, numbers[0].place.start) + 1
    head, tail = content[start:numbers[0].place.start], content[numbers[-1].place.stop:]
    return not (_OPERATOR.search(head) or _GLUED.match(tail) or _OPERATOR.search(re.sub(r"[A-Za-z}]\^", "", tail)))


def _last_list(text: str, wanted: int, mark: DecimalMark) -> tuple[list[Written], str]:
    """Return the last numbers that stand together, at most one more than wanted, and the text in which they stand.

    Raises NoAnswer for a text without a number.
    """
    size = _WINDOW
    while True:
        part = text[-size:]
        plain = legible(part)
        numbers = list(written(plain, mark))
        first = len(numbers) - 1
        while 0 < first >= len(numbers) - wanted and _BETWEEN.fullmatch(_between(plain, *numbers[first - 1:first + 1])):
            first -= 1
        if first > 0 or size >= len(text):
            break
        size *= 4
    if not numbers:
        raise NoAnswer("no number in the output")
    return numbers[first:], part


def _equal(wanted: Sequence[Written], given: Sequence[Written], params: NumericParams) -> bool:
    if not all(number.values for number in given):
        return False
    one = len(wanted) == len(given) == 1
    if one and wanted[0].percent != given[0].percent:  # 50 % may be meant by 50 and by 0.5
        return any(_same_numbers(wanted[0].values, [value / share for value in given[0].values], params)
                   for share in (Fraction(1), Fraction(100) if given[0].percent else Fraction(1, 100)))
    return _same_numbers([value for number in wanted for value in number.values],
                         [value for number in given for value in number.values], params)


def _same_numbers(wanted: Sequence[Fraction], given: Sequence[Fraction], params: NumericParams) -> bool:
    return len(wanted) == len(given) and all(
        abs(other - one) <= _tolerance(one, params) for one, other in zip(wanted, given, strict=True))


def _tolerance(wanted: Fraction, params: NumericParams) -> Fraction:
    if params.abs_tolerance is None:
        absolute = MILLIONTH * min(Fraction(1), abs(wanted))
    else:
        absolute = Fraction(repr(params.abs_tolerance))
    return max(absolute, Fraction(repr(params.rel_tolerance)) * abs(wanted))


def right_output(item: Item, params: NumericParams) -> RightOutput:
    """Return the reference."""
    return RightOutput(of_row(params.reference, item))


def marks(params: NumericParams) -> list[Mark]:  # noqa: ARG001
    """Return the texts around an answer."""
    return [box(needed=False), tag(needed=False)]


GRADER = Grader(NumericParams, grade, right_output=right_output, marks=marks)
