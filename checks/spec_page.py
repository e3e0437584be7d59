"""Writes docs/run-spec.md, every field of a run spec, from the models: `python -m checks.spec_page [--write]`.

Without --write nothing changes, and the exit status is 1 where the page is not what the models say.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from checks import rendered
from hone.client import catalog, schema_fields
from hone.client.schema_fields import Schema, references
from hone.harnesses.catalogue import HARNESSES
from hone.spec.run import RunSpec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "run-spec.md"
HEAD = """# Every field of a run spec

This page is written from the models by `python -m checks.spec_page --write`, and a check compares them.
`hone validate FILE` checks a spec without a server. `hone train FILE --dry-run` prints it with every default filled in.

The sections follow the spec: [the run](#the-run), then every object inside it by its path. The fields of `task.params`,
`grader`, `harness.params` and a slot's `params` depend on the name beside them: see [environments](#environments),
[graders](#graders), [harnesses](#harnesses) and [methods](#methods).
"""


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
            for model in references(field):
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
    for name in HARNESSES:
        harness = HARNESSES.facts(name)
        yield _named(name, harness.summary, harness.params_schema)
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
    sections = [f"[{paths[model]}](#{paths[model].replace('.', '')})" for model in references(field) if model in paths]
    default = schema_fields.default(field, required)
    inside = [f"Fields: {', '.join(sections)}."] if sections else []
    meaning = " ".join([schema_fields.meaning(field, models), *inside])
    return (f"`{name}`", schema_fields.kind(field, models), default if required else f"`{default}`",
            meaning.replace("|", "\\|"))


if __name__ == "__main__":
    sys.exit(rendered.main(PAGE, page(), "python -m checks.spec_page --write"))
