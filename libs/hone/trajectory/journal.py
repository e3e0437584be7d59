"""Finished calls as the journal keeps them: JSON bytes, exact to the bit."""

import json
from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import Any

import numpy as np

from hone.trajectory.records import Call, VersionSpan


class JournalError(ValueError):
    """These bytes are no journaled call; carries them as `raw`."""

    def __init__(self, reason: str, raw: bytes) -> None:
        super().__init__(f"journaled call: {reason}")
        self.raw = raw


def encode(call: Call) -> bytes:
    """Return a call as JSON. Log-probs are base64 of little-endian float32, as exact as the wire and half the size."""
    fields: dict[str, Any] = {name: getattr(call, name) for name in Call.__dataclass_fields__}
    fields["logp_sample"] = b64encode(np.asarray(call.logp_sample, "<f4").tobytes()).decode()
    fields["train_mask"] = [int(trained) for trained in call.train_mask]
    fields["versions"] = [asdict(span) for span in call.versions]
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(body: bytes) -> Call:
    """Return the call that `encode` wrote. Raises JournalError."""
    try:
        fields = json.loads(body)
        fields["logp_sample"] = np.frombuffer(b64decode(fields["logp_sample"]), "<f4").tolist()
        fields["train_mask"] = [bool(trained) for trained in fields["train_mask"]]
        fields["versions"] = [VersionSpan(**span) for span in fields["versions"]]
        return Call(**fields)
    except (ValueError, TypeError, KeyError) as error:
        raise JournalError(str(error), body) from error
