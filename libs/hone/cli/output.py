"""Answers on a terminal: tables for people, JSON for programs (`--json`)."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

_WIDEST = 2000

Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


def say(text: str) -> None:
    """Print a line as it is."""
    Console(soft_wrap=True, highlight=False, markup=False, emoji=False).print(text)


def rows(items: Iterable[BaseModel], columns: Sequence[str], as_json: bool) -> None:
    """Print items as a table of some of their fields, or as one JSON object a line with all of them."""
    if as_json:
        for item in items:
            say(item.model_dump_json())
        return
    table(columns, ([cell(getattr(item, column)) for column in columns] for item in items))


def table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table whose cells stay whole: ids are there to be copied, so a narrow terminal wraps lines instead."""
    shown = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        shown.add_row(*line)
    Console(width=_WIDEST, markup=False, emoji=False).print(shown)


def one(item: BaseModel, as_json: bool) -> None:
    """Print one thing, a field a line, or as JSON."""
    if as_json:
        say(item.model_dump_json())
        return
    for name, value in item:
        say(f"{name:<14} {cell(value)}")


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
    if isinstance(value, dict) and all(isinstance(item, int | float) for item in value.values()):
        return "  ".join(f"{name}={cell(item)}" for name, item in value.items())
    return json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
