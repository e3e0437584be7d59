"""JSON values held against a JSON Schema of somebody else: in time that is linear in the value, and nothing is fetched.

Python's own regular expressions may search for ever in a short text. The ones here have no look-around and no
references to their groups.
"""

from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs

_LONGEST, _END = 300, 100


@lru_cache(maxsize=1024)
def compiled(text: str) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of a schema's JSON. Raises ValueError for what is no schema of draft 2020-12."""
    try:
        return jsonschema_rs.Draft202012Validator(
            text, pattern_options=jsonschema_rs.RegexOptions(), retriever=_refused)
    except jsonschema_rs.ValidationError as error:
        raise ValueError(f"JSON Schema of draft 2020-12 ({_short(error.message)})") from None


def breach(text: str, value: Any) -> str:
    """Return where and how a value first breaks a schema; empty: nowhere. Raises ValueError for what is no schema."""
    schema = compiled(text)
    try:
        error = next(schema.iter_errors(value), None)
    except ValueError as unread:
        return f"arguments: values that can be read as JSON are expected ({unread})"
    if error is None:
        return ""
    return f"{'.'.join(map(str, error.instance_path)) or 'arguments'}: {_short(error.message)}"


def _short(message: str) -> str:
    """Return a message that begins with the value and ends with what is wrong, and of a long one both ends."""
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST - _END]} … {message[-_END:]}"


def _refused(uri: str) -> NoReturn:
    raise ValueError(f"{uri[:_LONGEST]} is not part of the schema, and nothing is fetched")
