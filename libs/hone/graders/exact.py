"""The whole output equals the reference."""

from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, Item
from hone.graders.results import Result, verdict
from hone.graders.templates import Template, rendered


class ExactParams(GraderParams):
    """How outputs and references are compared."""

    type: Literal["exact"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="What the output has to be.")
    strip: bool = Field(True, description="White space around both does not count.")
    ignore_case: bool = Field(False, description="Capital and small letters are equal.")


def grade(item: Item, output_text: str, params: ExactParams) -> Result:
    """Score 1 when the output is the reference, 0 otherwise."""
    reference = rendered(params.reference, item, output_text)
    answer, wanted = (text.strip() if params.strip else text for text in (output_text, reference))
    right = answer.casefold() == wanted.casefold() if params.ignore_case else answer == wanted
    return verdict(right, answer, "exact")


GRADER = Grader(ExactParams, grade)
