"""Canonical JSON, content hashes, and the mixing of seeds that numbers a stream of tasks."""

import hashlib
import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_MASK = 2**64 - 1
SEED_BITS = 31


def canonical(value: Any) -> str:
    """Return the canonical JSON of a value: sorted keys, no spaces. Raises TypeError for a value that is no JSON."""
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON, hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def splitmix(state: int) -> int:
    """Return 64 well-mixed bits for a 64-bit state (Steele, Lea, Flood: SplitMix64)."""
    mixed = (state + 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)


def mixed_seed(*parts: int) -> int:
    """Return a seed of `SEED_BITS` bits that depends on every part and on their order."""
    state = 0
    for part in parts:
        state = splitmix(state ^ (part & _MASK))
    return state >> (64 - SEED_BITS)
