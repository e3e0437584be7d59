r"""Compares the last \boxed{…} with the reference: by algebra (math-verify), or by string rules where algebra errs.

It runs in a process of the pool: the parser and sympy can hang, and only a kill surely stops them.
"""

from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from hone.graders.answer_types import STRING_RULES, answer_type, braced, plain
from hone.graders.answers import box, last_boxed
from hone.graders.contract import Grader, GraderParams, InvalidSpec, Item, Mark, NoAnswer, Result, RightOutput, verdict
from hone.graders.templates import Template, of_row, rendered

MAX_CHARACTERS = 50_000


class MathParams(GraderParams):
    """The reference, and how the answer is compared with it."""

    type: Literal["math"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="The right answer, as LaTeX or plain text.")
    answer_type: Literal["auto", "symbolic", "letter", "order", "time", "words"] = Field(
        "auto", description="Kind of the answer: symbolic is compared by algebra, others as text. auto: as the "
        "reference.")
    boxed: Literal["required", "optional"] = Field(
        "required", description=r"An output without \boxed{…}: optional: is an answer as a whole; required: has none.")
    float_rounding: int = Field(6, ge=0, le=15, description="Decimal places in which equal numbers agree.")


def grade(item: Item, output_text: str, params: MathParams) -> Result:
    """Score 1 for an answer equal to the reference, in any form, and 0 otherwise."""
    reference = _unboxed(rendered(params.reference, item, output_text))
    kind = answer_type(reference) if params.answer_type == "auto" else params.answer_type
    answer = _answer(output_text, params.boxed)
    if kind in STRING_RULES:
        form = STRING_RULES[kind]
        return verdict(form(answer) == form(reference), answer, kind)
    return verdict(_equal(reference, answer, params.float_rounding), answer, "symbolic")


def _answer(output_text: str, boxed: str) -> str:
    if len(output_text) > MAX_CHARACTERS:
        raise NoAnswer(f"the output is longer than {MAX_CHARACTERS} characters")
    content = last_boxed(output_text)
    if content is None and boxed == "required":
        raise NoAnswer(r"no balanced \boxed{…} in the output")
    return (output_text if content is None else content).strip()


def _unboxed(reference: str) -> str:
    return plain(reference) if (content := last_boxed(reference)) is None else content.strip()


def _equal(reference: str, answer: str, float_rounding: int) -> bool:
    from math_verify import verify

    gold, given = _proven(reference, float_rounding), _parsed(answer)
    # The reference comes first: the comparison is not symmetric.
    return bool(given and verify(gold, given, float_rounding=float_rounding, strict=True, timeout_seconds=None))


@lru_cache(maxsize=1024)
def _proven(reference: str, float_rounding: int) -> list[Any]:
    """Return the parsed reference. Raises InvalidSpec when it is no expression or does not equal itself."""
    from math_verify import verify

    gold = _parsed(reference)
    if not gold or not verify(gold, gold, float_rounding=float_rounding, strict=True, timeout_seconds=None):
        raise InvalidSpec(f"other_error: the reference {reference[:200]!r} does not verify against itself")
    return gold


def _parsed(tex: str) -> list[Any]:
    """Return the expressions in a text without a box; [] when there are none.

    Repair of malformed operators is off, so that broken LaTeX scores 0. The library's own time limits are off, because
    the pool limits the time of the whole grade.
    """
    from latex2sympy2_extended.latex2sympy2 import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse

    normalization = NormalizationConfig(
        basic_latex=True, units=True, malformed_operators=False, nits=True, boxed="last", equations=False)
    try:
        return list(parse(
            "\\boxed{" + braced(plain(tex)) + "}", fallback_mode="no_fallback", parsing_timeout=None,
            extraction_config=[LatexExtractionConfig(boxed_match_priority=0, normalization_config=normalization)]))
    except RecursionError:
        return []


def prepare() -> None:
    """Import the library and test it in this process: one half is 0.5, and one third is not 0.33."""
    if not _equal("1/2", "0.5", 6) or _equal("1/3", "0.33", 6):
        raise RuntimeError("math-verify fails on known answers")


def right_output(item: Item, params: MathParams) -> RightOutput:
    """Return the reference in a box; a reference that has one is returned as it is."""
    reference = of_row(params.reference, item)
    return RightOutput(reference if last_boxed(reference) is not None else f"\\boxed{{{reference}}}")


def marks(params: MathParams) -> list[Mark]:
    """Return the texts around an answer."""
    return [box(needed=params.boxed == "required")]


GRADER = Grader(MathParams, grade, pooled=True, prepare=prepare, right_output=right_output, marks=marks)
