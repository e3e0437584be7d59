"""Ids: a prefix for the kind of thing, the time, and a random number. They sort by time and are never reused."""

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new(prefix: str) -> str:
    """Return an id such as `run_01k9…`: 9 characters for the milliseconds and 9 random ones, in base 32."""
    return f"{prefix}_{_base32(int(time.time() * 1000), 9)}{_base32(secrets.randbits(45), 9)}"


def _base32(number: int, length: int) -> str:
    return "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in reversed(range(length)))
