"""The subject of a call, sent in its metadata: the run, group and step for the log lines of both sides."""

import json
from itertools import islice
from typing import Any

from hone.telemetry import logs

HEADER = "hone-about"
NAMES = ("tenant_id", "tenant_ids", "run_id", "run_ids", "group_id", "group_ids", "model_id", "model_ids", "step",
         "steps")
MOST = 32
"""Most values that are sent of each name. gRPC refuses calls with more than 8 KiB of metadata."""


def call_metadata() -> tuple[tuple[str, str], ...]:
    """Return the metadata of a call that is made now: the subject of log lines here, or nothing if there is none."""
    fields = {name: _bounded(value) for name, value in logs.subject().items() if name in NAMES}
    return ((HEADER, json.dumps(fields)),) if fields else ()


def read(received: dict[str, Any]) -> dict[str, Any]:
    """Return the subject in the metadata of a received call, empty if the metadata has none."""
    try:
        fields = json.loads(received.get(HEADER, "{}"))
    except ValueError:
        return {}
    return {name: fields[name] for name in NAMES if name in fields} if isinstance(fields, dict) else {}


def _bounded(value: Any) -> Any:
    return list(islice(value, MOST)) if isinstance(value, list) else value
