"""`hone environments`, `hone algorithms`: what a spec may name. Without a server."""

from typing import Annotated

import typer
import yaml

from hone.cli.failures import Commands
from hone.cli.output import Json, rows, say
from hone.client import catalog
from hone.spec.problems import Invalid, Problem, one_of

algorithms = typer.Typer(cls=Commands, no_args_is_help=True, help="Presets: named fillings of a step's slots.")


def environments(json: Json = False) -> None:
    """List environments and their parameters."""
    found = catalog.environments()
    if json:
        rows(found, (), as_json=True)
        return
    for environment in found:
        say(f"{environment.name}: {environment.summary}")
        for name, schema in environment.params_schema.get("properties", {}).items():
            said = f"default {schema['default']}" if "default" in schema else "required"
            say(f"    {name} ({said}): {schema.get('description', '')}")


@algorithms.command("list")
def listed(json: Json = False) -> None:
    """List presets with the method of each slot."""
    for preset in catalog.algorithms():
        methods = (f"{slot}={filling['name']}" for slot, filling in preset.slots.items() if isinstance(filling, dict))
        say(preset.model_dump_json() if json else f"{preset.name:<22} {' '.join(methods)}")


@algorithms.command()
def show(name: Annotated[str, typer.Argument(help="A preset's name.")]) -> None:
    """Show one preset with every parameter."""
    presets = {preset.name: preset for preset in catalog.algorithms()}
    if name not in presets:
        raise Invalid([Problem("name", name, one_of(name, presets))])
    say(yaml.safe_dump(presets[name].slots, sort_keys=False).rstrip())
