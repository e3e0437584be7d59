"""Snapshots that come from elsewhere, read by the types of the state that they are of.

A state of another form would be taken, and fail at a later step with an error that names nothing.
"""

import json
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, TypeVar, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from hone.spec.problems import found, unstorable

State = TypeVar("State")
_MOST = 2**31
"""Counts are below."""


class WrongSnapshot(ValueError):
    """A snapshot is none of the task. The message names the field, what was found and what was expected."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: found {found(value)}, expected {expected}")


def state_of(kind: Callable[..., State], snapshot: Any) -> State:
    """Return the state, a dataclass, whose fields a snapshot has. Raises WrongSnapshot."""
    return kind(**fields_of(snapshot, get_type_hints(kind)))


def fields_of(snapshot: Any, types: Mapping[str, Any], optional: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a snapshot, each of its type; lists become tuples where that is the type.

    Whole numbers are counts, from 0. Raises WrongSnapshot, also for a field that is missing or unknown.
    """
    if not isinstance(snapshot, Mapping):
        raise WrongSnapshot("snapshot", snapshot, "an object")
    for name in types:
        if name not in snapshot and name not in optional:
            raise WrongSnapshot(name, None, "a field of the snapshot")
    for name, value in snapshot.items():
        if name not in types:
            raise WrongSnapshot(name, value, f"one of the fields {', '.join(types)}")
    return {name: _read(name, types[name], value) for name, value in snapshot.items()}


def _read(name: str, kind: Any, value: Any) -> Any:
    try:
        read = _adapter(kind).validate_json(json.dumps(value, allow_nan=False), strict=True)
    except ValidationError as error:
        raise WrongSnapshot(name, value, error.errors()[0]["msg"]) from error
    except (ValueError, RecursionError) as error:  # what is no JSON: NaN, half a surrogate pair
        raise WrongSnapshot(name, value, f"JSON ({error})") from error
    if wrong := unstorable(value):
        raise WrongSnapshot(".".join(filter(None, (name, wrong[0].field))), wrong[0].found, wrong[0].expected)
    if type(read) is int and not 0 <= read < _MOST:
        raise WrongSnapshot(name, value, f"a count from 0, below {_MOST}")
    return read


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False, val_json_bytes="base64"))
