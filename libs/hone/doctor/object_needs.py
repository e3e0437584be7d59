"""Needs of Hone of an object store, each tried on the store itself: `hone doctor --objects URL`."""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import quote, urlsplit, urlunsplit

from hone.store import objects
from hone.store.objects import SMALLEST_PART, ObjectMissing, Objects, StoreAway, Unfinished
from hone.store.objects.s3 import Bucket, StoreRefused

Need = Callable[[Objects, str], str]
"""Try a need with keys below a prefix; return what the store did wrong, or nothing."""

_PARTS = [bytes(SMALLEST_PART), b"the end"]
_WHOLE, _LARGE, _ODD, _LISTED = "whole", "large", "ä b+c%2F?#&/rows.jsonl", ("a", "b/c", "b/d/e", "b/f", "b0")


def trials(url: str) -> Iterator[tuple[str, str]]:
    """Yield each need and what is wrong with it, empty if nothing. What was stored for it is deleted again.

    Raises StoreAway, StoreRefused and ValueError if the store cannot be opened.
    """
    store, below = objects.connect(url), f"health/doctor-{secrets.token_hex(8)}/"
    try:
        for name, need in NEEDS.items():
            try:
                yield name, need(store, _below(below, name))
            except (OSError, KeyError, ValueError) as failed:
                yield name, f"{type(failed).__name__}: {failed}"
        yield "secrets", _other_secret(url)
    finally:
        stored = (f"{_below(below, name)}{key}" for name in NEEDS for key in (_WHOLE, _LARGE, _ODD, *_LISTED))
        with suppress(StoreAway):
            store.delete(stored)


def _below(below: str, need: str) -> str:
    return f"{below}{need.replace(' ', '-')}/"


def _small(store: Objects, below: str) -> str:
    content = secrets.token_bytes(1000)
    store.put(below + _WHOLE, content)
    return "" if store.get(below + _WHOLE) == content else "other bytes came back than were stored"


def _ranges(store: Objects, below: str) -> str:
    content = secrets.token_bytes(1000)
    store.put(below + _WHOLE, content)
    found = [store.read_range(below + _WHOLE, begin, 30) for begin in (0, 10, 990, 1000)]
    expected = [content[begin : begin + 30] for begin in (0, 10, 990, 1000)]
    return "" if found == expected else "a range came back with other bytes"


def _any_key(store: Objects, below: str) -> str:
    key = below + _ODD
    store.put(key, b"1")
    return "" if store.get(key) == b"1" and list(store.list(below)) == [key] else f"it does not keep the key {key!r}"


def _lists(store: Objects, below: str) -> str:
    keys = [below + name for name in _LISTED]
    for key in reversed(keys):
        store.put(key, b"1")
    if list(store.list(below)) != keys:
        return "keys are not listed in the order of their text"
    after = [list(store.list(f"{below}b", f"{below}b/d/e")), list(store.list(f"{below}b/", f"{below}a"))]
    return "" if after == [keys[3:], keys[1:4]] else "a list that goes on after a key has other keys"


def _in_parts(store: Objects, below: str) -> str:
    begun = _begun(store, below + _LARGE)
    tags = [store.put_part(begun, number, part) for number, part in enumerate(_PARTS, 1)]
    if list(store.list(below)):
        return "an object is listed before it is finished"
    store.finish(begun, tags)
    store.finish(begun, tags)  # a second time, as after an answer that was lost
    return "" if b"".join(store.read(begun.key)) == b"".join(_PARTS) else "it came back with other bytes"


def _given_up(store: Objects, below: str) -> str:
    begun = _begun(store, below + _LARGE)
    store.put_part(begun, 1, b"x")
    store.abandon(begun)
    store.abandon(begun)
    try:
        store.put_part(begun, 2, b"x")
    except (ObjectMissing, StoreAway):
        return ""
    return "a part was taken for an object that was given up"


def _found_again(store: Objects, below: str) -> str:
    begun = _begun(store, below + _ODD)
    store.put_part(begun, 1, b"x")
    try:
        if not isinstance(store, Bucket):
            return ""
        found = [one for one in store.parts.unfinished() if one.id == begun.id and one.key == begun.key and one.at]
        return "" if found else "the list lacks its key or its time: leftovers of a crash are never deleted"
    finally:
        store.abandon(begun)


def _deletes(store: Objects, below: str) -> str:
    for key in (_WHOLE, _LARGE):
        store.put(below + key, b"1")
    store.delete([below + _WHOLE, f"{below}never"])
    return "" if list(store.list(below)) == [below + _LARGE] else "other keys are left than were not deleted"


NEEDS: Mapping[str, Need] = {
    "small objects": _small, "ranges": _ranges, "any key": _any_key, "lists": _lists, "objects in parts": _in_parts,
    "parts given up": _given_up, "unfinished objects": _found_again, "deletes": _deletes}


def _begun(store: Objects, key: str) -> Unfinished:
    return store.begin(key, SMALLEST_PART, hashlib.sha256(b"".join(_PARTS)).hexdigest())


def _other_secret(url: str) -> str:
    """Return the fault of a store that opens for another secret than the given secret."""
    parts = urlsplit(url)
    if not parts.password:
        return ""
    user, place = quote(parts.username or "", safe=""), parts.netloc.rpartition("@")[2]
    other = urlunsplit(parts._replace(netloc=f"{user}:{secrets.token_hex(16)}@{place}"))
    with suppress(StoreRefused):
        objects.connect(other)
        return "the store opens with any secret"
    return ""
