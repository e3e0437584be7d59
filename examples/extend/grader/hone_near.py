"""The share of characters that stand where the reference has them."""

from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, Result, RightOutput, Status
from hone.graders.sample import Item
from hone.graders.templates import Template, of_row, rendered


class NearParams(GraderParams):
    """The reference. Users see the schema of this class, with the descriptions."""

    type: Literal["near"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="Text that the output should equal.")


def grade(item: Item, output_text: str, params: NearParams) -> Result:
    """Score the share of places at which both texts have the same character, from 0 to 1. A pure function."""
    wanted, answer = rendered(params.reference, item, output_text), output_text.strip()
    same = sum(left == right for left, right in zip(wanted, answer, strict=False))
    return Result(Status.OK, same / max(len(wanted), len(answer), 1), extracted=answer, decided_by="near")


def right_output(item: Item, params: NearParams) -> RightOutput:
    """Return the reference, with which `hone graders check` tries the grader."""
    return RightOutput(of_row(params.reference, item))


GRADER = Grader(NearParams, grade, right_output=right_output)
