r"""A judge's verdict on an answer, arXiv 2602.07594. It is right when it equals the known label of the answer."""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from hone.environments import row_json
from hone.graders.answers import box, last_boxed
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
from hone.spec.parameters import Strict

Label: TypeAlias = Literal["Yes", "No"]

_TAIL = 300
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")


class Wording(Strict):
    """How a verdict is written, and the largest reward of a right one."""

    verdict: Literal["boxed", "word"] = Field(
        "boxed", description=r"boxed: the verdict is in the last \boxed{} of the last 300 characters; word: it is the "
        "output's last word.")
    yes_text: str = Field("Yes", min_length=1, max_length=100, description="Verdict that the answer is correct.")
    no_text: str = Field("No", min_length=1, max_length=100, description="Verdict that the answer is not correct.")
    cap: float = Field(0.5, gt=0, le=1, description="Largest reward of a right verdict, which is min(pass rate, cap).")

    @model_validator(mode="after")
    def _can_be_read(self) -> "Wording":
        if self.yes_text.lower() == self.no_text.lower():
            raise ValueError("expected yes_text and no_text to differ by more than case")
        for text in (self.yes_text, self.no_text):
            if self._said(rf"\boxed{{{text}}}" if self.verdict == "boxed" else text) != text:
                raise ValueError("expected yes_text and no_text as they are read: no blanks around them, no final "
                                 f"period{', one word each' if self.verdict == 'word' else ''}")
        return self

    def read(self, text: str) -> Label | None:
        """Return the verdict at the end of a judge's output, in upper or lower case; None where there is none."""
        labels: dict[str, Label] = {self.yes_text.lower(): "Yes", self.no_text.lower(): "No"}
        return labels.get((self._said(text) or "").lower())

    def _said(self, text: str) -> str | None:
        return boxed_answer(text) if self.verdict == "boxed" else last_word(text)


class VerdictParams(GraderParams, Wording):
    """How the verdict is written."""

    model_config = ConfigDict(strict=True)

    type: Literal["verdict"] = Field(description="Name of the grader.")


def boxed_answer(text: str) -> str | None:
    r"""Return the last box in the last 300 characters, without \text{}, $, outer blanks and final period, or None."""
    box = last_boxed(text[-_TAIL:])
    return None if box is None else _TEXT.sub(r"\1", box).replace("$", "").strip().removesuffix(".").rstrip()


def last_word(text: str) -> str | None:
    """Return the last word without a final period, or None."""
    words = text.split()
    return words[-1].removesuffix(".") if words else None


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
