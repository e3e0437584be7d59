"""Texts of others as PostgreSQL and protocol buffers can hold them: without NUL and half a surrogate pair.

JSON can spell both, so whoever answers in JSON may send them.
"""

from collections.abc import Mapping
from typing import Any


def storable(value: Any) -> Any:
    """Return a JSON value whose texts have the replacement character where they had what cannot be stored."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, Mapping):
        return {storable(name): storable(inside) for name, inside in value.items()}
    return [*map(storable, value)] if isinstance(value, list | tuple) else value
