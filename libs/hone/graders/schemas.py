"""JSON Schema, draft 2020-12, with objects that are closed: a field that no `properties` names is an error.

A schema that states `additionalProperties` or `unevaluatedProperties` for an object keeps what it states.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from referencing import Registry
from referencing.exceptions import Unresolvable

from hone.graders.contract import InvalidSpec

LONGEST = 200_000
"""Characters of a schema as JSON."""
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SAME_PLACE = ("allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas")
_INSIDE = ("properties", "patternProperties", "additionalProperties", "items", "prefixItems", "contains",
           "unevaluatedItems")
_DEFINED = ("$defs", "definitions")
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", *_DEFINED})
_DESCRIBES = ("properties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if")


@lru_cache(maxsize=256)
def validator(text: str) -> Any:
    """Return the validator of a schema's JSON, with closed objects. Raises ValueError for what is no schema.

    A schema refers to its own parts alone: nothing is fetched.
    """
    from jsonschema import Draft202012Validator  # a tenth of a second, which only those who have a schema spend
    from jsonschema.exceptions import SchemaError

    if len(text) > LONGEST:
        raise ValueError(f"a schema of at most {LONGEST} characters, not {len(text)}")
    schema = json.loads(text)
    if not isinstance(schema, dict | bool):
        raise ValueError("a JSON Schema, an object")
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, re.error) as error:
        raise ValueError(f"a JSON Schema ({getattr(error, 'message', str(error))[:300]})") from error
    _refuse_foreign(schema)
    return Draft202012Validator(_closed(schema), registry=Registry())


def breaches(text: str, value: Any) -> Iterator[str]:
    """Yield where a value breaks a schema. Raises InvalidSpec for what is no schema, and for one that leads nowhere."""
    try:
        checking = validator(text)
    except ValueError as error:
        raise InvalidSpec(f"other_error: a schema is not {error}") from error
    try:
        for breach in checking.iter_errors(value):
            yield f"{breach.json_path}: {breach.message[:200]}"
    except Unresolvable as error:
        raise InvalidSpec(f"other_error: the schema refers to {error.ref[:200]!r}, which it lacks") from error
    except RecursionError:
        raise InvalidSpec("other_error: the schema refers to itself without end") from None


def _refuse_foreign(schema: Any) -> None:
    stack = [schema]
    while stack:
        one = stack.pop()
        if isinstance(one, Mapping):
            for key in ("$ref", "$dynamicRef"):
                if isinstance(one.get(key), str) and not one[key].startswith("#"):
                    raise ValueError(f"references to the schema's own parts, such as #/$defs/name; found {one[key]!r}")
            if one.get("$schema", _DRAFT) not in (_DRAFT, f"{_DRAFT}#"):
                raise ValueError(f"draft 2020-12 of JSON Schema; found {one['$schema']!r}")
            stack += one.values()
        elif isinstance(one, list):
            stack += one


def _closed(schema: Any) -> Any:
    """Return the schema of a value with its objects closed. Parts of one place are closed together, by the whole."""
    if not isinstance(schema, dict):
        return schema
    made = _inside(schema)
    if any(key in schema for key in _DESCRIBES) and not {"additionalProperties", "unevaluatedProperties"} & made.keys():
        made["unevaluatedProperties"] = False
    return made


def _inside(schema: Any) -> Any:
    """Return a schema that is itself as open as before, with the values inside of it closed."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for key in made.keys() & set(_INSIDE):
        made[key] = _each(key, made[key], _closed)
    for key in made.keys() & {*_SAME_PLACE, *_DEFINED}:
        made[key] = _each(key, made[key], _inside)
    return made


def _each(key: str, given: Any, change: Any) -> Any:
    if isinstance(given, list):
        return [change(one) for one in given]
    if key in _BY_NAME and isinstance(given, dict):
        return {name: change(one) for name, one in given.items()}
    return change(given)
