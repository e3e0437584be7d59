"""Readers of long texts."""

import json

from benchmarks.methods.local_play import Asked
from hone.remembering.phrases import pairs, plain_options
from tests.support.remembering.edits import edits

SIZES = {"variables": 4, "values": 2, "questions": 3, "required": 1, "periods": 3, "changes": 2, "options": 2}


def reader(asked: Asked) -> str:
    """Write what is new, and answer by the last pairs."""
    text = "\n".join(one["content"] for one in asked.said)
    if asked.kind == "write":
        known, _, heard = text.partition("Messages:")
        return edits(known, pairs(heard)) if "Facts:" in known else json.dumps(pairs(heard))
    if asked.kind == "evolve":
        return '{"remember": "names"}'
    if asked.kind == "reply":
        return "ok"
    names, options = plain_options(asked.said[-1]["content"])
    values = tuple(pairs(text).get(name, "") for name in names)
    return str(options.index(values) + 1) if values in options else "0"
