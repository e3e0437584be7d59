"""Problems in user input: the field, the value found and the value expected. All services report this shape."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError

from hone.spec.findings import expectation

_NOTHING = "nothing"
_LONGEST, _DEEPEST = 200, 50
_LONGEST_EXPECTATION = 1000
_TYPE = re.compile(r"(?:dict|list|tuple|set|literal|union|nullable|constrained-\w+|function-\w+|is-instance)\[.*\]")
"""Parts that pydantic puts into a location for the type that it tried, of a field of several types."""
_SCALARS = {"str": "string_", "int": "int_", "float": "float_", "bool": "bool_"}
"""The same for plain types, and how its findings begin there."""
_NAMED = re.compile(r"Value error, (?P<field>\w+): found .*?, expected (?P<expected>.*)", re.DOTALL)
MOST_VALUES = 3000
"""Of a run spec: keys, items of lists, texts and numbers. Each may have a problem."""


@dataclass(frozen=True)
class Problem:
    """A wrong field: its path with dots and [indices], its value in short, and the expectation."""

    field: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.field}: found {self.found}, expected {self.expected}"

    def as_json(self) -> dict[str, str]:
        return asdict(self)


class Invalid(ValueError):
    """The input was refused. Holds every problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


def found(value: object) -> str:
    """Return a value as JSON, shortened for people; None gives "nothing"."""
    if value is None:
        return _NOTHING
    try:
        text = _shown(value)
    except RecursionError:
        text = f"a {type(value).__name__} nested too deep to be shown"
    except ValueError:  # Python writes no int of more than 4300 digits
        text = f"a {type(value).__name__} with too many digits to be shown"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def _shown(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError):
        return repr(value)


def path(parts: Iterable[str | int]) -> str:
    """Return the path of a field, for instance `algorithm.regularizers[0].name`; long names are shortened."""
    text = ""
    for part in (part[:_LONGEST] if isinstance(part, str) else part for part in parts):
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def one_of(name: str, known: Iterable[str]) -> str:
    """Return the expectation "one of" the known names, with a hint to the name nearest to `name`."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"one of {', '.join(names)}{hint}"


def from_validation(error: ValidationError, model: type[BaseModel] | None = None, root: str = "") -> list[Problem]:
    """Return pydantic's findings as problems. With `model` unknown keys get the known ones; `root` precedes paths."""
    return joined([from_finding(finding, model, root) for finding in error.errors(include_url=False)])


def joined(problems: Sequence[Problem]) -> list[Problem]:
    """Return problems with one for each field and value: a field of several types has a finding for each of them."""
    expected: dict[tuple[str, str], list[str]] = {}
    for one in problems:
        expected.setdefault((one.field, one.found), []).append(one.expected)
    return [Problem(*where, " or ".join(dict.fromkeys(texts))) for where, texts in expected.items()]


def from_finding(finding: Mapping[str, Any], model: type[BaseModel] | None = None, root: str = "") -> Problem:
    """Return one of pydantic's findings as a problem."""
    location = tuple(part for part in finding["loc"] if not (isinstance(part, str) and _TYPE.fullmatch(part)))
    if location and location[-1] in _SCALARS and finding["type"].startswith(_SCALARS[location[-1]]):
        location = location[:-1]
    field = path([root, *location] if root else location) or "body"
    if finding["type"] == "missing":
        return Problem(field, _NOTHING, expectation(finding))
    if finding["type"] == "extra_forbidden":
        return Problem(field, f"unknown key with value {found(finding['input'])}", _known_keys(location, model))
    named = _NAMED.fullmatch(str(finding["msg"])) if isinstance(finding["input"], Mapping) else None
    if named and named["field"] in finding["input"]:  # of an object: one of its fields, with another, is wrong
        return Problem(path([root, *location, named["field"]] if root else [*location, named["field"]]),
                       found(finding["input"][named["field"]]), named["expected"][:_LONGEST_EXPECTATION])
    return Problem(field, found(finding["input"]), expectation(finding))


def _known_keys(location: Sequence[str | int], model: type[BaseModel] | None) -> str:
    owner = model_at(model, location[:-1])
    return "no such key" if owner is None else one_of(str(location[-1]), owner.model_fields)


def model_at(model: type[BaseModel] | None, location: Sequence[str | int]) -> type[BaseModel] | None:
    """Return the type of the object at a location inside a model; None where there is no object of a known type."""
    for part in location:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part) if model else None
        model = _inner_model(field.annotation) if field else None
    return model


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_inner_model(part) for part in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)


def too_many(value: object) -> Problem | None:
    """Return the problem of a spec with more than MOST_VALUES values; None if it has none. It never looks at more."""
    left, seen = [value], 0
    while left and seen <= MOST_VALUES:
        one = left.pop()
        seen += 1
        inner = one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ()
        left += islice(inner, MOST_VALUES + 1)
    return Problem("body", f"more than {MOST_VALUES} values", f"at most {MOST_VALUES}") if seen > MOST_VALUES else None


def unstorable(value: object, at: str = "", depth: int = 0, deepest: int = _DEEPEST) -> list[Problem]:
    """Return problems with values that the database cannot hold.

    These are NUL and lone surrogates in text, numbers that are not finite, and nesting that is too deep.
    """
    if depth > deepest:
        return [Problem(ascii(at)[1:-1][:_LONGEST], f"values nested more than {deepest} deep", "fewer levels")]
    if isinstance(value, Mapping):
        inner = ((key, item, f"{at}.{key}" if at else str(key)) for key, item in value.items())
        return [one for key, item, where in inner
                for one in [*_bad_text(str(key), where), *unstorable(item, where, depth + 1, deepest)]]
    if isinstance(value, list):
        return [one for place, item in enumerate(value)
                for one in unstorable(item, f"{at}[{place}]", depth + 1, deepest)]
    if isinstance(value, float) and not math.isfinite(value):
        return [Problem(ascii(at)[1:-1], str(value), "a finite number")]
    return _bad_text(value, at) if isinstance(value, str) else []


def _bad_text(text: str, at: str) -> list[Problem]:
    if "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text):
        return []
    return [Problem(ascii(at)[1:-1], found(text), "text without NUL characters and lone surrogates")]
