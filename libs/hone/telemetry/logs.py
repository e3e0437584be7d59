"""Structured logs: one JSON object a line on stderr."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hone.telemetry import tracing

_about: ContextVar[dict[str, Any]] = ContextVar("about", default={})  # noqa: B039 — never changed in place


class JsonLines(logging.Formatter):
    """Time, level, logger, message, what the work is about, its trace, and a call's `extra={"fields": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"), "level": record.levelname.lower(),
                  "logger": record.name, "message": record.getMessage(), **_about.get(), **tracing.ids(),
                  **getattr(record, "fields", {})}
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
    """Put these fields into every line that is logged within: run_id, group_id, model_id."""
    token = _about.set({**_about.get(), **fields})
    try:
        yield
    finally:
        _about.reset(token)
