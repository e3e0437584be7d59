"""Follows an answer the instructions of its row? They are IFEval's, in the form of its rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from hone.graders.contract import Grader, GraderParams, InvalidSpec, Names, Result, Status
from hone.graders.instruction_rules import RULES, follows
from hone.graders.languages import KNOWN
from hone.graders.sample import Item
from hone.graders.templates import Template, rendered
from hone.spec import strict_json
from hone.spec.problems import found as shown
from hone.spec.problems import one_of

MOST = 64
"""Instructions of a row."""
Instruction = tuple[str, dict[str, Any]]
"""An id and its arguments."""


class InstructionsParams(GraderParams):
    """Choice of instructions, and how strictly they are read."""

    type: Literal["instructions"] = Field(description="Name of the grader.")
    instruction_id_list: list[str] | Template = Field(
        "{{ item.instruction_id_list }}", description="Ids of IFEval, for instance punctuation:no_comma, or a template "
        "of their JSON list.")
    kwargs: list[dict[str, Any]] | Template = Field(
        "{{ item.kwargs }}", description="The arguments of each instruction, in the same order; null arguments are "
        "left out.")
    mode: Literal["strict", "loose"] = Field(
        "strict", description="strict: the answer as it is; loose: any of eight variants of it, without its first "
        "line, its last line, or asterisks.")
    score: Literal["all", "fraction"] = Field(
        "all", description="all: 1 if all are followed; fraction: the share that is followed.")

    @model_validator(mode="after")
    def _readable(self) -> "InstructionsParams":
        if isinstance(self.instruction_id_list, list) and isinstance(self.kwargs, list):
            checked(self.instruction_id_list, self.kwargs)
        return self


def grade(item: Item, output_text: str, params: InstructionsParams) -> Result:
    """Score 1 for an answer that follows all instructions, or the share that it follows. A component for each id."""
    try:
        asked = checked(*(_value(given, item) for given in (params.instruction_id_list, params.kwargs)))
    except ValueError as error:
        raise InvalidSpec(f"other_error: expected {error}") from error
    texts = list(_variants(output_text)) if params.mode == "loose" else [output_text.strip()]
    followed = [(name, any(follows(name, text, arguments) for text in texts)) for name, arguments in asked]
    right = sum(one for _, one in followed)
    score = right / len(followed) if params.score == "fraction" else float(right == len(followed))
    reasons = tuple(f"{name}: not followed" for name, one in followed if not one)
    return Result(Status.OK, score, _shares(followed), reasons, decided_by=params.mode)


def _shares(followed: Sequence[tuple[str, bool]]) -> dict[str, float]:
    """Return the share of each id that is followed: a row may name one twice."""
    of_names: dict[str, list[bool]] = {}
    for name, one in followed:
        of_names.setdefault(name, []).append(one)
    return {name: sum(all_of) / len(all_of) for name, all_of in of_names.items()}


def _value(given: Any, item: Item) -> Any:
    """Return a list, as it is or as a row's JSON. Raises ValueError, and InvalidSpec for a field that the row lacks."""
    if not isinstance(given, str):
        return given
    text = rendered(given, item, "")
    try:
        return strict_json.read(text)
    except ValueError as error:
        raise ValueError(f"JSON for {given}, not {shown(text)} ({error})") from error


def checked(ids: Any, kwargs: Any) -> list[Instruction]:
    """Return instructions with their arguments. Raises ValueError, which names the wrong one."""
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST:
        raise ValueError(f"a list of 1 to {MOST} ids in instruction_id_list, not {shown(ids)}")
    if not isinstance(kwargs, list) or len(kwargs) != len(ids):
        raise ValueError(f"as many objects in kwargs as there are ids, {len(ids)}, not {shown(kwargs)}")
    return [(str(name), _arguments(name, given, f"kwargs[{place}]"))
            for place, (name, given) in enumerate(zip(ids, kwargs, strict=True))]


def _arguments(name: Any, given: Any, at: str) -> dict[str, Any]:
    if not isinstance(name, str) or name not in RULES:
        raise ValueError(f"an id that is {one_of(str(name), RULES)}, not {shown(name)}")
    if not isinstance(given, dict):
        raise ValueError(f"an object at {at}, not {shown(given)}")
    there, wanted = {key: value for key, value in given.items() if value is not None}, RULES[name].arguments
    if there.keys() != set(wanted):
        raise ValueError(f"{', '.join(wanted) or 'nothing'} at {at} for {name}, not {', '.join(there) or 'nothing'}")
    return {key: _ARGUMENTS[key](f"{at}.{key}", value) for key, value in there.items()}


def _text(at: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"a text at {at}, not {shown(value)}")
    return value


def _letter(at: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise ValueError(f"one letter at {at}, not {shown(value)}")
    return value


def _texts(at: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"a list of texts at {at}, not {shown(value)}")
    return [_text(f"{at}[{place}]", one) for place, one in enumerate(value)]


def _count(at: str, value: Any) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or value < 0:
        raise ValueError(f"a whole number from 0 on at {at}, not {shown(value)}")
    return int(value)


def _place(at: str, value: Any) -> int:
    if _count(at, value) < 1:
        raise ValueError(f"a whole number from 1 on at {at}, not {shown(value)}")
    return int(value)


def _one_of(*known: str) -> Callable[[str, Any], str]:
    def checked_name(at: str, value: Any) -> str:
        if value not in known:
            raise ValueError(f"{one_of(str(value), known)} at {at}, not {shown(value)}")
        return str(value)
    return checked_name


_RELATION = _one_of("at least", "less than")
_ARGUMENTS: Mapping[str, Callable[[str, Any], Any]] = {
    "keywords": _texts, "forbidden_words": _texts, "keyword": _text, "letter": _letter,
    "language": _one_of(*sorted(KNOWN)),
    "relation": _RELATION, "let_relation": _RELATION, "capital_relation": _RELATION, "nth_paragraph": _place,
    **dict.fromkeys(("first_word", "postscript_marker", "section_spliter", "prompt_to_repeat", "end_phrase"), _text),
    **dict.fromkeys(("frequency", "let_frequency", "capital_frequency", "num_sentences", "num_paragraphs", "num_words",
                     "num_placeholders", "num_bullets", "num_highlights", "num_sections"), _count),
}


def _variants(text: str) -> Iterator[str]:
    """Yield the answer and it without its first line, its last line, or both; then the four without asterisks."""
    lines = text.split("\n")
    for some in (lines, lines[1:], lines[:-1], lines[1:-1]):
        whole = "\n".join(some).strip()
        yield from (one for one in (whole, whole.replace("*", "")) if one.strip())


def components(params: InstructionsParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return the ids that rows may name."""
    return frozenset(params.instruction_id_list if isinstance(params.instruction_id_list, list) else RULES)


def prepare() -> None:
    """Read the profiles of the languages, and test them."""
    german = {"language": "de"}
    texts = ("Der Hund schläft heute unter dem alten Baum.", "The dog sleeps under the old tree today.")
    if [follows("language:response_language", text, german) for text in texts] != [True, False]:
        raise RuntimeError("the languages of known texts are not detected")


GRADER = Grader(InstructionsParams, grade, pooled=True, prepare=prepare, components=components)
