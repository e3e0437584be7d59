r"""Compares the last \boxed{…} with the reference: by algebra, or by string rules where algebra errs.

It runs in a process of the pool: the parser and sympy can hang, and only a kill surely stops them.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from pydantic import Field

from hone.graders.algebra.equality import equal
from hone.graders.algebra.structures import Members, Structure, parsed
from hone.graders.algebra.tex import normal
from hone.graders.algebra.values import Unreadable
from hone.graders.answer_types import STRING_RULES, answer_type, choice
from hone.graders.answers import box, boxed_together, boxes
from hone.graders.contract import Grader, GraderParams, InvalidSpec, Mark, NoAnswer, Result, RightOutput, verdict
from hone.graders.sample import Item
from hone.graders.templates import Template, of_row, rendered

MAX_CHARACTERS = 50_000
MAX_EXPRESSION = 2_000
"""Characters of an expression that algebra reads; more where the reference itself is long."""


class MathParams(GraderParams):
    """The reference, and how the answer is compared with it."""

    type: Literal["math"] = Field(description="Name of the grader.")
    reference: Template = Field("{{ item.answer }}", description="The right answer, as LaTeX or plain text.")
    answer_type: Literal["auto", "symbolic", "letter", "option", "order", "time", "words"] = Field(
        "auto", description="Kind of the answer: symbolic is compared by algebra, every other kind as text. auto: as "
        "the "
        "reference.")
    boxed: Literal["required", "optional"] = Field(
        "required", description=r"An output without \boxed{…}: optional: is an answer as a whole; required: has none.")
    float_rounding: int = Field(
        6, ge=0, le=15, description="Decimal places in which a rounded decimal agrees with the value; for values below "
        "0.1 the digits from the first that is not 0.")


def grade(item: Item, output_text: str, params: MathParams) -> Result:
    """Score 1 for an answer equal to the reference, in any form, and 0 otherwise."""
    reference = _unboxed(rendered(params.reference, item, output_text))
    kind = answer_type(reference) if params.answer_type == "auto" else params.answer_type
    answers = _answers(output_text, params.boxed)
    answer = ", ".join(answers)
    if kind == "option":
        return verdict(_chosen(reference, answer, params.float_rounding), answer, kind)
    if kind in STRING_RULES:
        form = STRING_RULES[kind]
        wanted = form(reference)
        if not wanted:
            raise InvalidSpec(f"other_error: the reference {reference[:200]!r} is empty")
        return verdict(all(form(one) == wanted for one in answers) or form(answer) == wanted, answer, kind)
    return verdict(_equal(reference, answers, _every_box(output_text), params.float_rounding), answer, "symbolic")


def _answers(output_text: str, boxed: str) -> list[str]:
    """Return the contents of the boxes that are the answer; the whole output where it has none and needs none."""
    if len(output_text) > MAX_CHARACTERS:
        raise NoAnswer(f"the output is longer than {MAX_CHARACTERS} characters")
    together = boxed_together(output_text)
    if not together and boxed == "required":
        raise NoAnswer(r"no balanced \boxed{…} in the output")
    if together and not any(together):
        raise NoAnswer("the box is empty")
    return together or [output_text.strip()]


def _every_box(output_text: str) -> list[str]:
    return [one.content for one in boxes(output_text)]


def _unboxed(reference: str) -> str:
    try:
        return ", ".join(boxed_together(reference)) or reference.strip()
    except NoAnswer as error:
        raise InvalidSpec(f"other_error: the reference: {error}") from None


def _chosen(reference: str, answer: str, places: int) -> bool:
    """Return whether an answer chooses the reference's option, by letter or text, without a contradiction."""
    letter, text = choice(reference)
    chosen, beside = choice(answer)
    if chosen is None:
        return _same_text(text, beside, places)
    return chosen == letter and (not beside or not text or _same_text(text, beside, places))


def _same_text(reference: str, answer: str, places: int) -> bool:
    wanted, given = (" ".join(text.rstrip(". ").casefold().split()) for text in (reference, answer))
    if wanted == given or f" {wanted} " in f" {given} ":
        return bool(wanted)
    try:
        return equal(_proven(reference, places), parsed(normal(answer)), places)
    except (InvalidSpec, Unreadable):
        return False


def _equal(reference: str, answers: Sequence[str], everything: Sequence[str], places: int) -> bool:
    wanted = _proven(reference, places)
    longest = max(MAX_EXPRESSION, 4 * len(reference))
    if sum(map(len, answers)) > longest:
        raise NoAnswer(f"the answer is longer than {longest} characters")
    if _matches(wanted, answers, places):
        return True
    several = isinstance(wanted, Members) and len(everything) == len(wanted.members) > len(answers)
    return several and sum(map(len, everything)) <= longest and _matches(wanted, everything, places)


def _matches(wanted: Structure, answers: Sequence[str], places: int) -> bool:
    try:
        return equal(wanted, parsed(normal(" ; ".join(answers))), places)
    except (Unreadable, RecursionError):
        return False


@lru_cache(maxsize=1024)
def _proven(reference: str, places: int) -> Structure:
    """Return the parsed reference. Raises InvalidSpec when it is no answer or does not equal itself."""
    try:
        wanted = parsed(normal(reference))
        if equal(wanted, parsed(normal(reference)), places):
            return wanted
    except (Unreadable, RecursionError):
        pass
    raise InvalidSpec(f"other_error: the reference {reference[:200]!r} does not verify against itself")


def prepare() -> None:
    """Import the libraries and test them in this process: one half is 0.5, and one third is not 0.33."""
    if not _equal("1/2", ["0.5"], [], 6) or _equal("1/3", ["0.33"], [], 6):
        raise RuntimeError("the algebra fails on known answers")


def right_output(item: Item, params: MathParams) -> RightOutput:
    """Return the reference in a box; a reference that has one is returned as it is."""
    reference = of_row(params.reference, item)
    return RightOutput(reference if boxed_together(reference) else f"\\boxed{{{reference}}}")


def marks(params: MathParams) -> list[Mark]:
    """Return the texts around an answer."""
    return [box(needed=params.boxed == "required")]


GRADER = Grader(MathParams, grade, pooled=True, prepare=prepare, right_output=right_output, marks=marks)
