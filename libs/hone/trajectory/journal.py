"""The journal's form of finished calls and the steps before them: JSON that keeps every bit of a number."""

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from hone.trajectory.records import Call, Context, Scored, Span, Step, Turn, VersionSpan

_DIGITS = b"01" + bytes(254)


class JournalError(ValueError):
    """Bytes that are not journaled calls. They are in `raw`."""

    def __init__(self, reason: str, raw: bytes) -> None:
        super().__init__(f"journaled calls: {reason}")
        self.raw = raw


def encode(turns: Mapping[int, Turn]) -> bytes:
    """Return turns that were finished together as JSON, by the index of their trajectory.

    Log-probs are base64 of little-endian float32: as exact as they arrived, and half the size of text.
    """
    return to_json([(index, _turn_fields(turn)) for index, turn in turns.items()], inf_nan_mode="constants")


def decode(body: bytes) -> dict[int, Turn]:
    """Return the turns that `encode` wrote. Fields that older journals lack are empty. Raises JournalError."""
    try:
        return {int(index): _turn(fields) for index, fields in json.loads(body)}
    except (ValueError, TypeError, KeyError, struct.error) as error:
        raise JournalError(str(error), body) from error


def _turn_fields(turn: Turn) -> dict[str, Any]:
    call = turn.call
    return {
        **call.__dict__, "logp_sample": _packed(call.logp_sample),
        "train_mask": bytes(call.train_mask).translate(_DIGITS).decode(),
        "versions": [(span.version_id, span.tokens) for span in call.versions],
        "contexts": [context.__dict__ for context in call.contexts],
        "scored": [_scored_fields(scored) for scored in call.scored],
        "spans": [span.__dict__ for span in call.spans],
        "steps": [step.__dict__ for step in turn.steps],
    }


def _turn(fields: dict[str, Any]) -> Turn:
    fields["logp_sample"] = _unpacked(fields["logp_sample"])
    fields["train_mask"] = [trained == "1" for trained in fields["train_mask"]]
    fields["versions"] = [VersionSpan(*span) for span in fields["versions"]]
    fields["contexts"] = [Context(**context) for context in fields.get("contexts", [])]
    fields["scored"] = [_scored(scored) for scored in fields.get("scored", [])]
    fields["spans"] = [Span(**span) for span in fields.get("spans", [])]
    steps = [Step(**step) for step in fields.pop("steps")]
    return Turn(Call(**fields), steps)


def _scored_fields(scored: Scored) -> dict[str, Any]:
    return {**scored.__dict__, "logp": _packed(scored.logp), "top_logp": _packed(scored.top_logp)}


def _scored(fields: dict[str, Any]) -> Scored:
    return Scored(**{**fields, "logp": _unpacked(fields["logp"]), "top_logp": _unpacked(fields["top_logp"])})


def _packed(logp: list[float]) -> str:
    return b64encode(struct.pack(f"<{len(logp)}f", *logp)).decode()


def _unpacked(text: str) -> list[float]:
    data = b64decode(text)
    return list(struct.unpack(f"<{len(data) // 4}f", data))
