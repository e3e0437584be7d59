"""Moments on the command line: a time of UTC, or how long ago."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from hone.spec.problems import Invalid, Problem

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d{1,6})([smhdw])")
_FORMS = "such as 2026-01-31, 2026-01-31T12:00 (UTC), or 30m, 2h, 7d ago"

Since = Annotated[str | None, typer.Option(help=f"Only from this moment on, {_FORMS}.")]
Until = Annotated[str | None, typer.Option(help=f"Only before this moment, {_FORMS}.")]


def moment(field: str, text: str | None) -> datetime | None:
    """Return the moment of a text; without an offset it is UTC. Raises Invalid."""
    if text is None:
        return None
    if ago := _AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid([Problem(field, text, f"a moment, {_FORMS}")]) from None
    return given if given.tzinfo else given.replace(tzinfo=UTC)
