"""Short answers by rules, as far as rules can tell: right, wrong, or for a judge. General365 without its judge.

Source: arXiv 2604.11778 and its evaluator's configuration. The strict rules, the rounding by `float_round`, and which
kinds are read inside a text are reconstructions.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hone.graders.algebra.equality import equal
from hone.graders.algebra.structures import Members, Relation, Structure, parsed
from hone.graders.algebra.tex import normal
from hone.graders.algebra.values import Unreadable
from hone.graders.answer_types import STRING_RULES, choice, plain
from hone.graders.answers import boxes
from hone.graders.contract import NoAnswer
from hone.graders.numbers import legible, written

AnswerType = Literal["auto", "number", "interval", "text", "single_choice", "multiple_choice", "order", "time"]
By = Literal["rule", "string", "extraction"]
LONGEST, PLACES = 2_000, 6
"""Characters of an answer that is read by rules, and decimal places in which a rounded decimal agrees."""

_ANSWER_IS = re.compile(r"\banswers?\s*(?:is|are|:)\s*:?", re.IGNORECASE)
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?\s*(?:[ap]\.?m\.?)?", re.IGNORECASE)
_ORDER = re.compile(r"[A-Z](?:\s*(?:[,>→-]|->|\\to|\\rightarrow|\\gt)\s*[A-Z])+|[A-J]{2,10}")
_LETTERS = re.compile(r"[(\[{]?\s*[A-Z]\s*[)\]}.]?(?:(?:\s|[,;&/、]|and\b)*[(\[{]?\s*[A-Z]\s*[)\]}.]?)*")
_OR = re.compile(r"\s+or\s+", re.IGNORECASE)
_NUMERIC_REST = re.compile(r"(?:[^\W\d_]|[\s$€£%°.{}\\])*")


@dataclass(frozen=True)
class Decision:
    """Verdict of the rules on an answer. `right` is None where only a judge can tell."""

    right: bool | None
    by: By | None
    extracted: str | None


def extracted(output_text: str) -> str | None:
    """Return an output's answer: the last box, else what follows `answer is`, else the last line; None without one."""
    try:
        boxed = boxes(output_text)
    except NoAnswer:
        return None
    if boxed:
        return boxed[-1].content.strip() or None
    said = list(_ANSWER_IS.finditer(output_text))
    behind = output_text[said[-1].end():].strip(" \t\n*:") if said else ""
    lines = [line.strip(" \t*#>") for line in (behind or output_text).splitlines()]
    there = [line for line in lines if line]
    found = (there[0] if behind else there[-1]) if there else ""
    return found.rstrip(".") or None


def decided(
    output_text: str, reference: str, kind: AnswerType = "auto", places: int = 0, strict: bool = True
) -> Decision:
    """Return the verdict of the rules on an output's answer.

    `places` above 0: decimals are compared with so many places. Not `strict`: a rule only says what is right, as in the
    benchmark's own evaluator; then numbers and intervals alone have rules.
    """
    answer = extracted(output_text)
    if answer is None:
        return Decision(False, "extraction", None)
    if len(answer) > LONGEST:
        return Decision(None, None, answer)
    found = _kind(reference, kind)
    if found in ("number", "interval"):
        right = _by_rule(answer, reference, places)
        right = right if strict or right else None
        return Decision(right, None if right is None else "rule", answer)
    right = _STRINGS[found](answer, reference) if strict else None
    return Decision(right, None if right is None else "string", answer)


def _kind(reference: str, kind: AnswerType) -> AnswerType:
    """Return the kind whose rules hold: times and orders are known by how they are written, not by the row."""
    text = plain(reference)
    if _TIME.fullmatch(text):
        return "time"
    if kind in ("auto", "text") and _is_order(text):
        return "order"
    if kind != "auto":
        return kind
    if re.fullmatch(r"\(?[A-Z]\)?\.?", text):
        return "single_choice"
    return "number" if _number(text) is not None else "interval" if _is_interval(text) else "text"


def _is_order(text: str) -> bool:
    letters = re.findall(r"[A-Z]", text)
    return _ORDER.fullmatch(text) is not None and len(set(letters)) == len(letters) > 1


def _by_rule(answer: str, reference: str, places: int) -> bool | None:
    """Return whether a number or interval is one of the reference's, or None where it cannot be read as such."""
    found = [_equal(answer, one, places) for one in _OR.split(reference)]
    return True if True in found else None if None in found else False


def _equal(answer: str, reference: str, places: int) -> bool | None:
    if _TIME.fullmatch(plain(answer)):
        return None
    own, wanted = _number(answer), _number(reference)
    if places > 0 and own is not None and wanted is not None and "." in reference:
        return round(own, places) == round(wanted, places)
    try:
        if equal(parsed(normal(reference)), parsed(normal(answer)), PLACES):
            return True
    except (Unreadable, RecursionError):
        return None
    comparable = own != wanted if own is not None and wanted is not None else (
        _is_interval(answer) and _is_interval(reference))
    return False if comparable else None


def _number(text: str) -> Fraction | None:
    """Return the value of a text that is one number, with or without a unit; None for any other text."""
    bare = legible(plain(text).split("=")[-1])
    found = list(written(bare))
    if len(found) != 1 or len(found[0].values) != 1:
        return None
    place = found[0].place
    rest = bare[:place.start] + bare[place.stop:]
    return found[0].values[0] if _NUMERIC_REST.fullmatch(rest) else None


def _is_interval(text: str) -> bool:
    try:
        structure: Structure = parsed(normal(text))
    except (Unreadable, RecursionError):
        return False
    if isinstance(structure, Relation):
        return not {"=", "~"} & set(structure.signs)
    return isinstance(structure, Members) and structure.kind in ("tuple", "half", "square")


def _single(answer: str, reference: str) -> bool | None:
    chosen, wanted = choice(answer)[0], choice(reference)[0]
    return None if chosen is None or wanted is None else chosen.upper() == wanted.upper()


def _several(answer: str, reference: str) -> bool | None:
    own, wanted = (plain(text).strip(" .") for text in (answer, reference))
    if not _LETTERS.fullmatch(own) or not _LETTERS.fullmatch(wanted):
        return None
    return set(re.findall(r"[A-Z]", own)) == set(re.findall(r"[A-Z]", wanted))


def _in_order(answer: str, reference: str) -> bool | None:
    own, wanted = (plain(text).strip(" .") for text in (answer, reference))
    if not _ORDER.fullmatch(own) or not _ORDER.fullmatch(wanted):
        return None
    return re.findall(r"[A-Z]", own) == re.findall(r"[A-Z]", wanted)


def _at_time(answer: str, reference: str) -> bool | None:
    own, wanted = plain(answer).strip(" ."), plain(reference)
    if not _TIME.fullmatch(own) or not _TIME.fullmatch(wanted) or own[-1].isdigit() != wanted[-1].isdigit():
        return None
    form = STRING_RULES["time"]
    return form(own) == form(wanted)


def _same_words(answer: str, reference: str) -> bool | None:
    form = STRING_RULES["words"]
    return True if form(answer) in {form(one) for one in (reference, *_OR.split(reference))} else None


_STRINGS: Mapping[str, Callable[[str, str], bool | None]] = {
    "single_choice": _single, "multiple_choice": _several, "order": _in_order, "time": _at_time, "text": _same_words,
}
