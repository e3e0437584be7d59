"""Short answers of known types by rules alone. Where no rule can tell, the score is 0, and `decided_by` says so."""

from typing import Literal, get_args

from pydantic import Field

from hone.graders.answers import box
from hone.graders.contract import (
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    NoAnswer,
    Result,
    RightOutput,
    Status,
    verdict,
)
from hone.graders.sample import Item
from hone.graders.short_answers import AnswerType, Decision, decided
from hone.graders.templates import Template, of_row, rendered
from hone.spec.problems import one_of

UNDECIDED = "undecided"


class ShortAnswerParams(GraderParams):
    """The reference, and the type of the answers."""

    type: Literal["short_answer"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="The right answer; several are joined by `or`.")
    answer_type: Template = Field(
        "auto", description="number, interval, text, single_choice, multiple_choice, order, time, or auto: as the "
        "reference is written. It may be a template, {{ item.answer_type }}.")
    float_round: Template = Field(
        "0", description="Decimal places in which a decimal reference is compared; 0: it is compared exactly, or as it "
        "is rounded. It may be a template, {{ item.float_round }}.")
    strict: bool = Field(True, description="Whether rules may say that an answer is wrong.")


def grade(item: Item, output_text: str, params: ShortAnswerParams) -> Result:
    """Score 1 for an answer that a rule finds right, and 0 otherwise. Raises NoAnswer and InvalidSpec."""
    decision = decision_on(item, output_text, params)
    if decision.by == "extraction" or decision.extracted is None:
        raise NoAnswer("no answer in the output")
    if decision.right is None:
        return Result(Status.OK, 0.0, reasons=("no rule can tell",), extracted=decision.extracted, decided_by=UNDECIDED)
    return verdict(decision.right, decision.extracted, decision.by or "")


def decision_on(item: Item, output_text: str, params: ShortAnswerParams) -> Decision:
    """Return the rules' verdict. Raises InvalidSpec for a row of unknown type or rounding, or without a reference."""
    reference, kind, places = (rendered(one, item, output_text).strip() for one in (
        params.reference, params.answer_type, params.float_round))
    if not reference:
        raise InvalidSpec("other_error: the reference is empty")
    known: AnswerType | None = next((one for one in get_args(AnswerType) if one == kind), None)
    if known is None:
        raise InvalidSpec(f"other_error: answer_type is {kind[:60]!r}, expected {one_of(kind, get_args(AnswerType))}")
    if not places.isdecimal() or int(places) > 15:
        raise InvalidSpec(f"other_error: float_round is {places[:60]!r}, expected a number from 0 to 15")
    return decided(output_text, reference, known, int(places), params.strict)


def right_output(item: Item, params: ShortAnswerParams) -> RightOutput:
    """Return the first of the reference's answers in a box."""
    return RightOutput(f"\\boxed{{{of_row(params.reference, item).split(' or ')[0]}}}")


def marks(params: ShortAnswerParams) -> list[Mark]:  # noqa: ARG001 — one signature for every grader
    """Return the texts around an answer."""
    return [box(needed=False)]


def prepare() -> None:
    """Import the algebra and test it: one half is 0.5, and one third is not 0.33."""
    if [decided(rf"\boxed{{{one}}}", other).right for one, other in (("1/2", "0.5"), ("1/3", "0.33"))] != [True, False]:
        raise RuntimeError("the rules fail on known answers")


GRADER = Grader(ShortAnswerParams, grade, pooled=True, prepare=prepare, right_output=right_output, marks=marks)
