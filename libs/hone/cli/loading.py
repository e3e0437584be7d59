"""Commands that load by name: `hone --help` lists every command, and imports the module of none."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

HELPS = files("hone.cli") / "helps.json"
"""The first lines of the commands' help, which `python -m checks.command_helps --write` writes."""


class Listed(TyperCommand):
    """A command of which only the name, the panel and the help are known, until it is loaded from `target`."""

    def __init__(self, name: str, target: str, panel: str, help: str) -> None:
        super().__init__(name, help=help, rich_help_panel=panel)
        self.target = target

    def loaded(self) -> Any:
        """Import the command, which is a function or a group, from `module:attribute`."""
        module, _, attribute = self.target.partition(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            single = typer.Typer(add_completion=False)
            single.command(self.name)(found)
            return typer.main.get_command(single)
        group = typer.main.get_group(found)
        group.name = self.name
        return group


class Listing(TyperGroup):
    """The root group. Its commands are listed by a table, and each is imported when it is called."""

    table: ClassVar[Mapping[str, Mapping[str, str]]] = {}  # panel -> name -> `module:attribute`

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for panel, named in self.table.items():
            for name, target in named.items():
                self.add_command(Listed(name, target, panel, _helps().get(name, "")))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that the arguments name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.loaded() if isinstance(command, Listed) else command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and translate its expected errors, as every group does."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            from hone.cli.output import expected_lines, print_errors  # heavy: for commands that failed alone

            lines = expected_lines(error)
            if lines is None:
                raise
            print_errors(lines)
        raise typer.Exit(1)


@cache
def _helps() -> dict[str, str]:
    found: dict[str, str] = json.loads(HELPS.read_text())
    return found
