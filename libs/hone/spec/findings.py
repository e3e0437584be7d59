"""Findings of pydantic in a value, as Hone words them: the field, the value found and the value expected."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

_LONGEST = 1000
_ONE = re.compile(r"\b1 (value|character)s\b")
_WORDS: Mapping[str, str] = {
    "json_invalid": "JSON ({error})",
    "missing": "a value",
    "string_pattern_mismatch": "text that matches {pattern}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "string_unicode": "text without lone surrogates",
    "too_short": "at least {min_length} values",
    "too_long": "at most {max_length} values",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "mapping_type": "an object",
}
"""Expectations by pydantic's kind of error. Of all others its own message is the expectation."""


class Finding(NamedTuple):
    """A wrong field: its path with dots, what stands there (None: nothing), and what is expected."""

    field: str
    found: object
    expected: str


def expectation(error: Mapping[str, Any]) -> str:
    """Return the expectation of one of pydantic's errors, in the words of Hone's own errors."""
    if words := _WORDS.get(error["type"]):
        return _ONE.sub(r"1 \1", words.format_map(error.get("ctx", {})))[:_LONGEST]
    text = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ").removeprefix("expected ")
    return text[:1].lower() + text[1:_LONGEST]


def first(error: ValidationError, *at: str, model: type[BaseModel] | None = None) -> Finding:
    """Return the first thing that is wrong; `at` is the path of the whole value, and `model` names the known keys."""
    one = error.errors(include_url=False)[0]
    field = ".".join([*at, *map(str, one["loc"])])
    if one["type"] == "missing":
        return Finding(field, None, expectation(one))
    if one["type"] == "extra_forbidden":
        known = ", ".join(model.model_fields) if model and len(one["loc"]) == 1 else ""
        return Finding(field, one["input"], f"one of the keys {known}" if known else "no such key")
    return Finding(field, one["input"], expectation(one))
