"""Fields of a JSON schema in words, for pages and for `hone describe`: type, bounds, default and meaning."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_WORDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null",
          "object": "object"}
_SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
_UNBOUNDED = 1e9
"""Larger bounds are those of a column or of a message, not of the field's meaning."""


def default(field: Schema, required: bool = False) -> str:
    """Return the default of a field as JSON, or "required"."""
    if required:
        return "required"
    if "default" not in field:
        return "[]" if field.get("type") == "array" else "{}"
    return json.dumps(field["default"], ensure_ascii=False)


def kind(field: Schema, models: Mapping[str, Schema]) -> str:
    """Return a field's type in words, with its choices or its bounds. `models` holds the schema's `$defs`."""
    if "anyOf" in field:
        return " or ".join(kind(choice, models) for choice in field["anyOf"])
    if "$ref" in field or "allOf" in field:
        return " ".join(_referred(name, models) for name in references(field))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{choice}`" for choice in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {kind(field.get('items', {}), models)}"
    if isinstance(field.get("additionalProperties"), Mapping):
        return f"object of {kind(field['additionalProperties'], models)}"
    return f"{_WORDS.get(field.get('type', ''), 'anything')}{_bounds(field)}"


def meaning(field: Schema, models: Mapping[str, Schema]) -> str:
    """Return the description of a field, or else the first line of each model's that it refers to."""
    return field.get("description") or " ".join(
        models[model].get("description", "").partition("\n")[0] for model in references(field))


def references(field: Any) -> Iterator[str]:
    """Yield the name of every model that a field refers to."""
    if isinstance(field, Mapping):
        if "$ref" in field:
            yield field["$ref"].rpartition("/")[2]
        for value in field.values():
            yield from references(value)
    elif isinstance(field, list):
        for value in field:
            yield from references(value)


def _bounds(field: Schema) -> str:
    given = {sign: field[key] for key, sign in _SIGNS.items() if key in field}
    return "".join(f" {sign} {bound:g}" for sign, bound in given.items() if bound < _UNBOUNDED)


def _referred(name: str, models: Mapping[str, Schema]) -> str:
    schema = models.get(name, {})
    return "object" if "properties" in schema or not schema else kind(schema, models)
