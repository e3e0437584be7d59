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
"""The subject of some work, by name: tenant_id, run_id, group_id, model_id, step."""

_about: ContextVar[Subject] = ContextVar("about", default={})  # noqa: B039 — never changed in place


class JsonLines(logging.Formatter):
    """Time, level, logger, message, the subject, its trace, and the fields of a call's `extra={"fields": {...}}`."""

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
    """Add these fields to the subject of every line that is logged within."""
    token = _about.set({**_about.get(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


@contextmanager
def about_all(subjects: Sequence[Subject]) -> Iterator[None]:
    """Give lines that are logged within all these subjects: equal values as `run_id`, different ones as `run_ids`."""
    token = _about.set(_joined(subjects))
    try:
        yield
    finally:
        _about.reset(token)


def stay_about(subject: Subject) -> None:
    """Make this the subject of every line that the present task logs from now on."""
    _about.set(subject)


def subject() -> Subject:
    """Return the subject of lines that are logged here."""
    return _about.get()


def present() -> dict[str, Any]:
    """Return the subject and the trace of lines that are logged here."""
    return {**_about.get(), **tracing.ids()}


def _joined(subjects: Sequence[Subject]) -> Subject:
    found: dict[str, list[Any]] = {}
    for one in subjects:
        for name, value in one.items():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    return {name if len(values) == 1 else f"{name}s": values[0] if len(values) == 1 else values
            for name, values in found.items()}
