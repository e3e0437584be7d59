"""Output on a terminal: tables for people, JSON for programs (`--json`), and errors."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import OperationalError
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from hone.cli.connection import Unconfigured
from hone.client import HoneError
from hone.client.resources import WithFiles
from hone.spec.problems import Invalid, Problem

_WIDEST = 2000

Json = Annotated[bool, typer.Option("--json", help="Print JSON, an object per line.")]


def say(text: str) -> None:
    """Print a text without formatting it."""
    Console(soft_wrap=True, highlight=False, markup=False, emoji=False).print(text)


def note(text: str) -> None:
    """Print a text for people who wait, beside what a program may read."""
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False).print(text)


def rows(items: Iterable[BaseModel], columns: Sequence[str], as_json: bool) -> None:
    """Print items as a table of some fields, or as one JSON object per line with all fields."""
    if as_json:
        for item in items:
            say(item.model_dump_json())
        return
    table(columns, ([cell(getattr(item, column)) for column in columns] for item in items))


def table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table. Cells are never cut, so that ids can be copied; a narrow terminal wraps the lines."""
    shown = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        shown.add_row(*line)
    Console(width=_WIDEST, markup=False, emoji=False).print(shown)


def one(item: BaseModel, as_json: bool, beside: frozenset[str] = frozenset()) -> None:
    """Print one item, a field per line, or as JSON. The fields `beside` are left out of the lines."""
    if as_json:
        say(item.model_dump_json())
        return
    for name, value in item:
        if name not in beside:
            _field(name, value)


def _field(name: str, value: Any) -> None:
    """Print a field in a line, or a line for each part of what has parts of several kinds."""
    if not isinstance(value, dict) or not value or _numbers(value):
        say(f"{name:<14} {cell(value)}")
        return
    say(name)
    for part, found in value.items():
        say(f"  {part:<16} {cell(found)}")


def _numbers(value: dict[str, Any]) -> bool:
    return all(isinstance(item, int | float) for item in value.values())


def files(item: WithFiles) -> None:
    """Print the files of an item as a table, below its fields."""
    if item.files:
        say("")
        table(("file", "bytes", "sha256"), ((name, str(file.bytes), file.sha256) for name, file in item.files.items()))


def cell(value: Any) -> str:
    """Return a value as a short text."""
    if value is None or value in ({}, []):
        return "-"
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, dict) and _numbers(value):
        return "  ".join(f"{name}={cell(item)}" for name, item in value.items())
    return json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)


class Commands(TyperGroup):
    """A group of commands. Expected errors are printed in a few lines and give exit code 1; others show a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and translate its expected errors."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            lines = expected_lines(error)
            if lines is None:
                raise
            print_errors(lines)
        raise typer.Exit(1)


def expected_lines(error: Exception) -> Sequence[Problem | str] | None:
    """Return the lines that explain an expected error to a person; None for every other error."""
    match error:
        case HoneError():
            return error.problems or [_line(error)]
        case Invalid():
            return error.problems
        case Unconfigured() | OSError():
            return [str(error)]
        case OperationalError():
            return [f"the database does not answer: {error}"]
    return None


def print_errors(lines: Iterable[Problem | str]) -> None:
    """Print each line as an error."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    for line in lines:
        console.print(f"error: {line}", markup=False, style="red")


def _line(error: HoneError) -> str:
    """Return an error in one line; one of the server has the id under which the log of the gateway tells more."""
    return f"{error} ({error.request_id})" if error.status >= 500 and error.request_id else str(error)
