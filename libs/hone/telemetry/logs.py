"""Structured logs: one JSON object a line on stderr."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hone.telemetry import tracing

Subject = Mapping[str, Any]
"""What some work is about: run_id, group_id, model_id, step."""

_about: ContextVar[Subject] = ContextVar("about", default={})  # noqa: B039 — never changed in place


class JsonLines(logging.Formatter):
    """Time, level, logger, message, what the work is about, its trace, and a call's `extra={"fields": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"), "level": record.levelname.lower(),
                  "logger": record.name, "message": record.getMessage(), **present(), **getattr(record, "fields", {})}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def configure(level: int = logging.INFO) -> None:
    """Send every log record of this process to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)


@contextmanager
def about(**fields: Any) -> Iterator[None]:
    """Put these fields into every line that is logged within, beside those that stand there."""
    token = _about.set({**_about.get(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


@contextmanager
def about_all(subjects: Sequence[Subject]) -> Iterator[None]:
    """Let every line within be about all of these: what they agree on by its name, else all of it, as `run_ids`."""
    token = _about.set(_joined(subjects))
    try:
        yield
    finally:
        _about.reset(token)


def stay_about(subject: Subject) -> None:
    """Let every line of the present task be about this from now on, to its end."""
    _about.set(subject)


def subject() -> Subject:
    """Return what lines are about here."""
    return _about.get()


def present() -> dict[str, Any]:
    """Return what lines say here beside their message: what they are about, and their trace."""
    return {**_about.get(), **tracing.ids()}


def _joined(subjects: Sequence[Subject]) -> Subject:
    found: dict[str, list[Any]] = {}
    for one in subjects:
        for name, value in one.items():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    return {name if len(values) == 1 else f"{name}s": values[0] if len(values) == 1 else values
            for name, values in found.items()}
