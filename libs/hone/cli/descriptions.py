"""`hone describe`, `hone schema`: what a spec may say, for people and for editors. They need no server.

The catalogues load every method and grader, so each command loads them itself and `hone` starts without them.
"""

import json
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hone.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hone.client.members import Member


def describe(name: Annotated[str, typer.Argument(
    help="KIND.NAME: an environment, grader, harness, method or preset, such as grader.math.")],
) -> None:
    """Describe a member of a catalogue: its parameters with their defaults, and a short example."""
    from hone.client.members import find

    for number, member in enumerate(find(name)):
        say(("\n" if number else "") + _described(member))


def schema() -> None:
    """Print the JSON schema of a run spec, with which an editor completes and checks it."""
    from hone.client.run_schema import run_schema

    say(json.dumps(run_schema(), ensure_ascii=False))


def _described(member: "Member") -> str:
    from hone.client.examples import example

    title = " ".join(filter(None, (f"{member.kind}.{member.name}", f"(slot {member.slot})" if member.slot else "")))
    parts = [title, member.summary, member.notes, "", _parameters(member.params_schema), "",
             f"example\n{indent(example(member), '    ')}"]
    return "\n".join(part for place, part in enumerate(parts) if part or parts[place - 1])


def _parameters(params: "Mapping[str, Any]") -> str:
    from hone.client import schema_fields

    models, lines = params.get("$defs", {}), list[str]()
    for name, field in params.get("properties", {}).items():
        required = name in params.get("required", ())
        default = schema_fields.default(field, required)
        lines += [f"    {name} ({schema_fields.kind(field, models)}; {'' if required else 'default '}{default})",
                  f"        {schema_fields.meaning(field, models)}"]
    return "\n".join(["parameters", *lines]) if lines else "no parameters"
