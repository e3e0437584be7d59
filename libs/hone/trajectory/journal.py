"""Finished calls, and the steps that led to them, as the journal keeps them: JSON bytes, exact to the bit."""

import json
import struct
from base64 import b64decode, b64encode

from hone.trajectory.records import Call, Step, Turn, VersionSpan

_DIGITS = b"01" + bytes(254)
_write = json.JSONEncoder(separators=(",", ":")).encode


class JournalError(ValueError):
    """These bytes are no journaled call; carries them as `raw`."""

    def __init__(self, reason: str, raw: bytes) -> None:
        super().__init__(f"journaled call: {reason}")
        self.raw = raw


def encode(turn: Turn) -> bytes:
    """Return a turn as JSON. Log-probs are base64 of little-endian float32, as exact as the wire and half the size."""
    call = turn.call
    logp = struct.pack(f"<{len(call.logp_sample)}f", *call.logp_sample)
    fields = {
        **call.__dict__, "logp_sample": b64encode(logp).decode(),
        "train_mask": bytes(call.train_mask).translate(_DIGITS).decode(),
        "versions": [(span.version_id, span.tokens) for span in call.versions],
        "steps": [step.__dict__ for step in turn.steps],
    }
    return _write(fields).encode()


def decode(body: bytes) -> Turn:
    """Return the turn that `encode` wrote. Raises JournalError."""
    try:
        fields = json.loads(body)
        logp = b64decode(fields["logp_sample"])
        fields["logp_sample"] = list(struct.unpack(f"<{len(logp) // 4}f", logp))
        fields["train_mask"] = [trained == "1" for trained in fields["train_mask"]]
        fields["versions"] = [VersionSpan(*span) for span in fields["versions"]]
        steps = [Step(**step) for step in fields.pop("steps")]
        return Turn(Call(**fields), steps)
    except (ValueError, TypeError, KeyError, struct.error) as error:
        raise JournalError(str(error), body) from error
