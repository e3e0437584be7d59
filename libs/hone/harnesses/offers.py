"""Offers of harnesses to a run's collections: the notes that hold them, and limits for offers and reading."""

import json
from typing import Any

NOTE = "offers"
"""The note of a call with what was offered after it: a list of {collection, item}."""
MOST_OF_CALL = 16
"""Items that may be offered after one call."""
MOST_BYTES = 4096
"""Longest JSON of an item, in UTF-8."""
MOST_READ = 4096
"""Newest items of a collection that a harness reads."""


class OfferRefused(ValueError):
    """An item is no JSON, is too long, or is one too many. The message has its words."""


def note(collection: str, item: Any, before: int) -> dict[str, Any]:
    """Return the note of an item that is offered to a collection, after `before` others of the same call.

    Characters that no database stores, which are NUL and halves of surrogate pairs, are left out of its texts. Raises
    OfferRefused.
    """
    if before >= MOST_OF_CALL:
        raise OfferRefused(f"it offered more than {MOST_OF_CALL} items after one call")
    try:
        text = json.dumps(_storable(item), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise OfferRefused(f"it offered to {collection!r} a value that is not JSON: {error}") from error
    if (size := len(text.encode())) > MOST_BYTES:
        raise OfferRefused(f"it offered an item of {size} bytes to {collection!r}, expected at most {MOST_BYTES}")
    return {"collection": collection, "item": json.loads(text)}


def cut(text: str, most: int) -> str:
    """Return the beginning of a text whose JSON has at most this many bytes."""
    while (size := len(json.dumps(text, ensure_ascii=False).encode(errors="ignore"))) > most:
        text = text[:min(len(text) - 1, len(text) * most // size)]
    return text


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "").encode(errors="ignore").decode()
    if isinstance(value, dict):
        return {_storable(key): _storable(held) for key, held in value.items()}
    return [_storable(held) for held in value] if isinstance(value, list | tuple) else value
