"""Writes docs/run-spec.md, every field of a run spec, from the models: `python -m checks.spec_page [--write]`.

Without --write nothing changes, and the exit status is 1 where the page is not what the models say.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from checks import rendered
from hone.client import catalog
from hone.harnesses import HARNESSES
from hone.spec.run import RunSpec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "run-spec.md"
HEAD = """# Every field of a run spec

This page is written from the models by `python -m checks.spec_page --write`, and a check compares them.
`hone validate FILE` checks a spec without a server. `hone train FILE --dry-run` prints it with every default filled in.

The sections follow the spec: [the run](#the-run), then every object inside it by its path. The fields of `task.params`,
`grader`, `harness.params` and a slot's `params` depend on the name beside them: see [environments](#environments),
[graders](#graders), [harnesses](#harnesses) and [methods](#methods).
"""

Schema = Mapping[str, Any]


def page() -> str:
    """Return the page as Markdown."""
    schema = RunSpec.model_json_schema()
    models = schema["$defs"]
    paths = _paths(schema, models)
    objects = [_section(f"## {path}", models[name], models, paths) for name, path in paths.items()]
    return "\n".join([HEAD, _section("## The run", schema, models, paths), *objects, *_catalogues()])


def _paths(root: Schema, models: Mapping[str, Schema]) -> dict[str, str]:
    """Return the objects of the spec by the model's name, each with the first path at which it stands."""
    paths, waiting = dict[str, str](), [("", root)]
    while waiting:
        path, schema = waiting.pop(0)
        for name, field in schema["properties"].items():
            for model in _models(field):
                if model not in paths and "properties" in models[model]:
                    paths[model] = f"{path}.{name}".strip(".")
                    waiting.append((paths[model], models[model]))
    return paths


def _section(title: str, schema: Schema, models: Mapping[str, Schema], paths: Mapping[str, str]) -> str:
    summary = schema.get("description", "")
    rows = [_row(name, field, name in schema.get("required", ()), models, paths)
            for name, field in schema.get("properties", {}).items()]
    return "\n".join([f"{title}\n", *([f"{summary}\n"] if summary else []), *_table(rows)])


def _catalogues() -> Iterator[str]:
    yield "## Environments\n"
    for environment in catalog.environments():
        yield _named(environment.name, environment.summary, environment.params_schema)
    yield "## Graders\n"
    for grader in catalog.graders():
        yield _named(grader.name, grader.summary, grader.params_schema)
    yield "## Harnesses\n"
    for name, harness in HARNESSES.items():
        yield _named(name, harness.summary, harness.params.model_json_schema())
    yield "## Methods\n"
    yield "`hone algorithms show NAME` prints a method's source and formula. Methods without parameters are left out.\n"
    for method in catalog.methods():
        if method.params_schema.get("properties"):
            yield _named(f"{method.slot}: {method.name}", "", method.params_schema)


def _named(name: str, summary: str, schema: Schema) -> str:
    return _section(f"### {name}", {**schema, "description": summary}, schema.get("$defs", {}), {})


def _table(rows: list[tuple[str, ...]]) -> Iterable[str]:
    if not rows:
        return ["No parameters.\n"]
    lines = [("field", "type", "default", "meaning"), ("---",) * 4, *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _row(
    name: str, field: Schema, required: bool, models: Mapping[str, Schema], paths: Mapping[str, str],
) -> tuple[str, ...]:
    meaning = field.get("description") or " ".join(
        models[model].get("description", "").partition("\n")[0] for model in _models(field))
    sections = [f"[{paths[model]}](#{paths[model].replace('.', '')})" for model in _models(field) if model in paths]
    default = "required" if required else f"`{_default(field)}`"
    return (f"`{name}`", _type(field, models), default,
            " ".join([meaning, *(f"Fields: {', '.join(sections)}." for _ in sections[:1])]).replace("|", "\\|"))


def _default(field: Schema) -> str:
    if "default" not in field:
        return "[]" if field.get("type") == "array" else "{}"
    return json.dumps(field["default"], ensure_ascii=False)


def _type(field: Schema, models: Mapping[str, Schema]) -> str:
    """Return a field's type in words, with its choices or its bounds."""
    if "anyOf" in field:
        return " or ".join(_type(one, models) for one in field["anyOf"])
    if "$ref" in field or "allOf" in field:
        return " ".join(_referred(name, models) for name in _models(field))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{choice}`" for choice in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}), models)}"
    if isinstance(field.get("additionalProperties"), Mapping):
        return f"object of {_type(field['additionalProperties'], models)}"
    return f"{_WORDS.get(field.get('type', ''), 'anything')}{_bounds(field)}"


_WORDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null",
          "object": "object"}
_SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def _bounds(field: Schema) -> str:
    given = {sign: field[key] for key, sign in _SIGNS.items() if key in field}
    return "".join(f" {sign} {bound:g}" for sign, bound in given.items() if bound < 1e9)


def _referred(name: str, models: Mapping[str, Schema]) -> str:
    schema = models.get(name, {})
    return "object" if "properties" in schema or not schema else _type(schema, models)


def _models(field: Any) -> Iterator[str]:
    """Yield the name of every model that a field refers to."""
    if isinstance(field, Mapping):
        if "$ref" in field:
            yield field["$ref"].rpartition("/")[2]
        for value in field.values():
            yield from _models(value)
    elif isinstance(field, list):
        for value in field:
            yield from _models(value)


if __name__ == "__main__":
    sys.exit(rendered.main(PAGE, page(), "python -m checks.spec_page --write"))
