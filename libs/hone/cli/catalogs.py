"""`hone environments`, `hone algorithms`: the names that a spec may use. They need no server.

The catalog loads every method and grader, so each command loads it itself and `hone` starts without it.
"""

from itertools import groupby
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from hone.cli.output import Commands, Json, rows, say
from hone.client.resources import Algorithm
from hone.spec.problems import Invalid, Problem, one_of

if TYPE_CHECKING:
    from hone.algorithms.presets import Filling

algorithms = typer.Typer(cls=Commands, no_args_is_help=True, help="Presets, and the methods for each slot of a step.")


def environments(json: Json = False) -> None:
    """List the environments with their parameters."""
    from hone.client import catalog

    found = catalog.environments()
    if json:
        rows(found, (), as_json=True)
        return
    for environment in found:
        say(f"{environment.name}: {environment.summary}")
        if environment.asked_roles:
            say(f"    may request answers of the roles: {', '.join(environment.asked_roles)}")
        _say_parameters(environment.params_schema)


@algorithms.command("list")
def listed(json: Json = False) -> None:
    """List the presets with the method in each slot, then the methods for each slot."""
    from hone.algorithms.presets import BASE, PRESETS
    from hone.client import catalog

    presets, methods = catalog.algorithms(), catalog.methods()
    if json:
        rows([*presets, *methods], (), as_json=True)
        return
    say(f"presets, each with its differences from {_filled(BASE)}")
    for preset in presets:
        say(f"    {preset.name:<24} {_filled(PRESETS[preset.name])}")
        if needed := _needs(preset):
            say(f"    {'':<24} {needed}")
    for slot, known in groupby(methods, key=lambda method: method.slot):
        say(f"\n{slot}")
        for method in known:
            say(f"    {method.name:<24} {method.formula.splitlines()[0]}")


@algorithms.command()
def show(name: Annotated[str, typer.Argument(help="Name of a preset or of a method.")]) -> None:
    """Show the preset of this name with every parameter, and each method of this name with source and formula."""
    from hone.client import catalog

    presets = {preset.name: preset for preset in catalog.algorithms()}
    methods = [method for method in catalog.methods() if method.name == name]
    if name not in presets and not methods:
        raise Invalid([Problem("name", name, one_of(name, {*presets, *(one.name for one in catalog.methods())}))])
    if name in presets:
        say(f"preset {name}")
        if needed := _needs(presets[name]):
            say(needed)
        say(yaml.safe_dump(presets[name].slots, sort_keys=False).rstrip())
    for method in methods:
        say(f"\n{method.slot} {method.name}: {method.source}\n{indent(method.formula, '    ')}\n")
        _say_parameters(method.params_schema)


@algorithms.command("spec")
def starting_spec(
    preset: Annotated[str, typer.Argument(help="Name of a preset.")],
    base: Annotated[str, typer.Option(help="The model to train.")] = "",
    dataset: Annotated[str, typer.Option(help="The dataset of its tasks.")] = "",
    environment: Annotated[str, typer.Option(help="The environment that makes its tasks.")] = "",
) -> None:
    """Print a complete spec of a preset to begin with."""
    from hone.client import catalog

    say(catalog.starting_spec(preset, base, dataset, environment).text.rstrip())


def _filled(filling: "Filling") -> str:
    """Return the slots with their methods, in one line."""
    methods = {slot: chosen if isinstance(chosen, list) else [chosen] for slot, chosen in filling.items()}
    return " ".join(f"{slot}={'+'.join(map(_method, chosen)) or 'none'}" for slot, chosen in methods.items())


def _method(chosen: str | tuple[str, dict[str, Any]]) -> str:
    name, params = (chosen, {}) if isinstance(chosen, str) else chosen
    return f"{name}({', '.join(f'{key}={value}' for key, value in params.items())})" if params else name


def _needs(preset: Algorithm) -> str:
    """Return why a preset cannot be run yet, or else the fields that a spec must add; empty if neither."""
    if preset.unmet:
        return preset.unmet
    needed = [f"a spec needs {', '.join(preset.asked)}"] if preset.asked else []
    return "; ".join([*needed, *([f"it runs without {preset.lacks}"] if preset.lacks else [])])


def _say_parameters(params: dict[str, Any]) -> None:
    for name, schema in params.get("properties", {}).items():
        given = f"default {schema['default']}" if "default" in schema else "optional"
        value = "required" if name in params.get("required", ()) else given
        choices = f"; one of {', '.join(map(str, schema['enum']))}" if "enum" in schema else ""
        say(f"    {name} ({value}{choices}): {schema.get('description', '')}")
