"""Structured logs: one JSON object a line on stderr."""

import json
import logging
import sys


class JsonLines(logging.Formatter):
    """Time, level, logger, message, and whatever a call put into `extra={"fields": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"), "level": record.levelname.lower(),
                  "logger": record.name, "message": record.getMessage(), **getattr(record, "fields", {})}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def configure(level: int = logging.INFO) -> None:
    """Send every log record of this process to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
