"""The last number of the answer, compared with the reference within a tolerance."""

import math
import re
from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, InvalidSpec, Item, NoAnswer, Result, RightOutput, verdict
from hone.graders.templates import Template, of_row, rendered

# A sign belongs to a number unless it follows a letter, a digit or a bracket: in 7-5 the last number is 5.
_NUMBER = re.compile(r"(?:(?<![\w)\]])[-+−])?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"
                     r"(?:[eE][-+]?[0-9]+)?")


class NumericParams(GraderParams):
    """The tolerance. Equal numbers have |answer - reference| <= max(abs_tolerance, rel_tolerance * |reference|)."""

    type: Literal["numeric"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="A number, or a text whose last number counts.")
    abs_tolerance: float = Field(1e-6, ge=0, allow_inf_nan=False, description="Largest difference of equal numbers.")
    rel_tolerance: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="Largest difference of equal numbers, as a share of the reference.")


def last_number(text: str) -> str | None:
    """Return the last number as written: digits, with or without sign, thousands commas, decimals and exponent."""
    found = None
    for found in _NUMBER.finditer(text):  # noqa: B007
        pass
    return found[0] if found else None


def grade(item: Item, output_text: str, params: NumericParams) -> Result:
    """Score 1 when the last numbers of answer and reference are equal, 0 otherwise."""
    reference = last_number(rendered(params.reference, item, output_text))
    if reference is None or not math.isfinite(wanted := _value(reference)):
        raise InvalidSpec(f"other_error: the reference holds no finite number: {reference}")
    answer = last_number(output_text)
    if answer is None:
        raise NoAnswer("no number in the output")
    tolerance = max(params.abs_tolerance, params.rel_tolerance * abs(wanted))
    return verdict(abs(_value(answer) - wanted) <= tolerance, answer, "last-number")


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def right_output(item: Item, params: NumericParams) -> RightOutput:
    """Return the reference."""
    return RightOutput(of_row(params.reference, item))


GRADER = Grader(NumericParams, grade, right_output=right_output)
