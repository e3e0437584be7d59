"""What a call is about, told beside it: the run, group and step that each side's log lines name."""

import json
from itertools import islice
from typing import Any

from hone.telemetry import logs

HEADER = "hone-about"
NAMES = ("run_id", "run_ids", "group_id", "group_ids", "model_id", "model_ids", "step", "steps")
MOST = 32
"""Of each name so many values go over the wire: gRPC refuses calls with more than 8 KiB beside them."""


def told() -> tuple[tuple[str, str], ...]:
    """Return what a call made now says of itself, as metadata; nothing where log lines name nothing either."""
    fields = {name: _bounded(value) for name, value in logs.subject().items() if name in NAMES}
    return ((HEADER, json.dumps(fields)),) if fields else ()


def heard(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return what a call's metadata says of it; nothing where that is none of ours."""
    try:
        fields = json.loads(metadata.get(HEADER, "{}"))
    except ValueError:
        return {}
    return {name: fields[name] for name in NAMES if name in fields} if isinstance(fields, dict) else {}


def _bounded(value: Any) -> Any:
    return list(islice(value, MOST)) if isinstance(value, list) else value
