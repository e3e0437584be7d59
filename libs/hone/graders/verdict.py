r"""A judge's verdict on an answer, arXiv 2602.07594. It is right when it equals the known label of the answer."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field

from hone.environments import row_json
from hone.environments.verdict_form import Label, VerdictForm
from hone.graders.answers import box
from hone.graders.contract import (
    Bounds,
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    NoAnswer,
    Result,
    RightOutput,
    Status,
)
from hone.graders.sample import Item


class Wording(VerdictForm):
    """How a verdict is written, and the largest reward of a right one."""

    cap: float = Field(0.5, gt=0, le=1, description="Largest reward of a right verdict, which is min(pass rate, cap).")


class VerdictParams(GraderParams, Wording):
    """How the verdict is written."""

    model_config = ConfigDict(strict=True)

    type: Literal["verdict"] = Field(description="Name of the grader.")


def worth(right: bool, rho: float, cap: float) -> float:
    """R = 1[right] min(rho, cap). `rho` is the pass rate of the judged question."""
    return float(right) * min(rho, cap)


def grade(item: Item, output_text: str, params: VerdictParams) -> Result:
    """Score min(item.rho, cap) for the verdict item.label, 0 for the other one.

    Raises NoAnswer for an output without a verdict, and InvalidSpec for a row without label or rho.
    """
    label, rho = _known(item)
    said = params.read(output_text)
    if said is None:
        raise NoAnswer(f"the output ends with neither {params.yes_text!r} nor {params.no_text!r}")
    return Result(Status.OK, worth(said == label, rho, params.cap), extracted=said, decided_by="verdict")


def _known(item: Item) -> tuple[Label, float]:
    label: Any = item.get("label")
    rho: Any = item.get("rho")
    if label not in ("Yes", "No"):
        raise InvalidSpec(f"item.label: found {label!r}, expected Yes or No")
    rate = row_json.number(rho)
    if rate is None or not 0 < rate <= 1:
        raise InvalidSpec(f"item.rho: found {rho!r}, expected a pass rate above 0, at most 1")
    return label, rate


def right_output(item: Item, params: VerdictParams) -> RightOutput:
    """Return the label as a verdict, and its worth."""
    label, rho = _known(item)
    text = params.yes_text if label == "Yes" else params.no_text
    return RightOutput(rf"\boxed{{{text}}}" if params.verdict == "boxed" else text, worth(True, rho, params.cap))


def bounds(params: VerdictParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return 0 and the largest reward of a right verdict."""
    return 0.0, params.cap


def marks(params: VerdictParams) -> list[Mark]:
    """Return the texts around an answer."""
    return [box(needed=True)] if params.verdict == "boxed" else []


GRADER = Grader(VerdictParams, grade, bounds=bounds, right_output=right_output, marks=marks)
