"""The whole output equals the reference."""

from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, Result, RightOutput, verdict
from hone.graders.sample import Item
from hone.graders.templates import Template, of_row, rendered


class ExactParams(GraderParams):
    """How the output and the reference are compared."""

    type: Literal["exact"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="Text that the output must equal.")
    strip: bool = Field(True, description="Ignore white space around both texts.")
    ignore_case: bool = Field(False, description="Treat capital and small letters as equal.")


def grade(item: Item, output_text: str, params: ExactParams) -> Result:
    """Score 1 for an output equal to the reference, 0 otherwise."""
    reference = rendered(params.reference, item, output_text)
    answer, wanted = (text.strip() if params.strip else text for text in (output_text, reference))
    right = answer.casefold() == wanted.casefold() if params.ignore_case else answer == wanted
    return verdict(right, answer, "exact")


def right_output(item: Item, params: ExactParams) -> RightOutput:
    """Return the reference."""
    return RightOutput(of_row(params.reference, item))


GRADER = Grader(ExactParams, grade, right_output=right_output)
