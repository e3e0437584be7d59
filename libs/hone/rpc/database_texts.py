"""Texts of a request that the database cannot hold, named to the caller by their field."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import Message
from psycopg import DataError

from hone.rpc.errors import InvalidField

_ESCAPED = "\\u0000"
"""NUL in a JSON text."""


@contextmanager
def texts_named(request: Message) -> Iterator[None]:
    """Raise InvalidField where the database refuses a text of the request for its NUL character.

    The request is searched after the refusal alone, so that long requests cost nothing.
    """
    try:
        yield
    except DataError as error:
        field, text = next(_with_nul(request, ""), (None, ""))
        if field is None:
            raise
        raise InvalidField(field, text, "text without NUL characters") from error


def _with_nul(message: Message, path: str) -> Iterator[tuple[str, str]]:
    for field, value in message.ListFields():
        yield from _searched(value, path + field.name)


def _searched(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if "\0" in value or _ESCAPED in value:
            yield path, value
    elif isinstance(value, Message):
        yield from _with_nul(value, f"{path}.")
    elif isinstance(value, (bytes, int, float)):
        return
    elif hasattr(value, "items"):
        for key, one in value.items():
            yield from _searched(str(key), path)
            yield from _searched(one, f"{path}.{key}")
    else:
        for place, one in enumerate(value):
            yield from _searched(one, f"{path}.{place}")
