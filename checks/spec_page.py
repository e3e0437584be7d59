"""Writes docs/run-spec.md and docs/parameters from the models: `python -m checks.spec_page [--write]`.

run-spec.md has the objects of a run spec, each with an example of checks/spec_examples.yaml. A page of docs/parameters
has the parameters of each member of one catalogue. Without --write nothing changes, and the exit status is 1 where a
page is not what the models say.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from checks import rendered
from hone.client import schema_fields
from hone.client.examples import example
from hone.client.members import KINDS, Member
from hone.client.schema_fields import Schema, references
from hone.spec.run import RunSpec

DOCS = Path(__file__).resolve().parent.parent / "docs"
EXAMPLES = Path(__file__).with_name("spec_examples.yaml")
COMMAND = "python -m checks.spec_page --write"
HEAD = """# Every field of a run spec

This page is written from the models by `python -m checks.spec_page --write`, and a check compares them.
`hone validate FILE` checks a spec without a server. `hone train FILE --dry-run` prints it with every default filled in.
`hone schema > run.schema.json` writes the JSON schema by which editors complete and check specs.

The sections follow the spec: [the run](#the-run), then every object inside it by its path. The fields of `task.params`,
`grader`, `harness.params` and a slot's `params` depend on the name beside them:
[environments](parameters/environments.md), [graders](parameters/graders.md), [harnesses](parameters/harnesses.md),
[methods](parameters/methods.md). `hone describe grader.math` prints the same of a single name.
"""
CATALOGUES: Mapping[str, tuple[str, str]] = {
    "environments.md": ("environment", "`task.environment` names an environment, and `task.params` has its "
                        "parameters. Their tasks: [environments](../environments.md)."),
    "graders.md": ("grader", "A grader is an object with its `type` and its parameters. How each decides: "
                   "[graders](../graders.md)."),
    "harnesses.md": ("harness", "A harness turns observations into prompts and completions into actions. `harness` has "
                     "its name and its `params`."),
    "methods.md": ("method", "Methods fill the slots of an [algorithm](../algorithms.md). `hone algorithms show NAME` "
                   "prints a method's source and formula."),
}
"""Page of docs/parameters -> the kind of its members, and its first paragraph."""


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    catalogues = {DOCS / "parameters" / name: _catalogue(*about) for name, about in CATALOGUES.items()}
    return {DOCS / "run-spec.md": _spec_page(), **catalogues}


def examples() -> dict[str, str]:
    """Return a part of a spec by the path of the object that it shows; the run's own path is empty."""
    found: dict[str, str] = yaml.safe_load(EXAMPLES.read_text())
    return found


def _spec_page() -> str:
    schema = RunSpec.model_json_schema()
    models = schema["$defs"]
    paths = _paths(schema, models)
    shown = examples()
    objects = [_section(f"## {path}", models[name], models, paths, shown[path]) for name, path in paths.items()]
    return "\n".join([HEAD, _section("## The run", schema, models, paths, shown[""]), *objects])


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


def _catalogue(kind: str, about: str) -> str:
    """Return the page of a catalogue."""
    members = list(KINDS[kind]())
    title = f"# Parameters: {'harnesses' if kind == 'harness' else f'{kind}s'}\n"
    plain = [member for member in members if not member.params_schema.get("properties")]
    written = f"{about} This page is written from the models by `{COMMAND}`.\n"
    names = ", ".join(f"`{_title(member)}`" for member in plain)
    without = [f"Without parameters: {names}.\n"] if plain else []
    return "\n".join([title, written, *without, *(_member(member) for member in members if member not in plain)])


def _member(member: Member) -> str:
    summary = "" if member.slot else member.summary
    schema = {**member.params_schema, "description": summary}
    return _section(f"## {_title(member)}", schema, schema.get("$defs", {}), {}, example(member))


def _title(member: Member) -> str:
    return f"{member.slot}: {member.name}" if member.slot else member.name


def _section(
    title: str, schema: Schema, models: Mapping[str, Schema], paths: Mapping[str, str], shown: str,
) -> str:
    summary = schema.get("description", "")
    rows = [_row(name, field, name in schema.get("required", ()), models, paths)
            for name, field in schema.get("properties", {}).items()]
    return "\n".join([f"{title}\n", *([f"{summary}\n"] if summary else []), *_table(rows),
                      f"```yaml\n{shown.rstrip()}\n```\n"])


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


def main() -> int:
    return max([rendered.main(page, text, COMMAND) for page, text in pages().items()])


if __name__ == "__main__":
    sys.exit(main())
