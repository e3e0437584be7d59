"""Ids: a prefix for the kind of thing, the time, and a random number. They sort by time and are never reused."""

import re
import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ACCEPTED = re.compile(r"[\w.:-]{1,100}", re.ASCII)


def new(prefix: str) -> str:
    """Return an id such as `run_01k9…`: 9 characters for the milliseconds and 9 random ones, in base 32."""
    return f"{prefix}_{_base32(int(time.time() * 1000), 9)}{_base32(secrets.randbits(45), 9)}"


def of_request(offered: object) -> str:
    """Return the id that a client gives its request, or a new one if it gives none that fits into a log line."""
    return offered if isinstance(offered, str) and _ACCEPTED.fullmatch(offered) else new("req")


def _base32(number: int, length: int) -> str:
    return "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in reversed(range(length)))
