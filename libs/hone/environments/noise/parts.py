"""The parts of a tool's result: values of JSON, or lines of text. Noise changes parts and leaves the form as it is."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]
_NO_JSON = object()
_ENTRY = re.compile(r"^(\s*(?:[-*•]\s+|[^:|=\n]{1,60}[:=]\s*))(\S.*)$")
"""A line with a value: `key: value`, `key = value`, or an item of a list."""
_WORD = re.compile(r"\w+")


def parsed(text: str) -> Any:
    """Return the JSON object or list of a result; `no_json` where it is text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON
    return value if isinstance(value, dict | list) else _NO_JSON


def is_json(value: Any) -> bool:
    """Return whether `parsed` found JSON."""
    return value is not _NO_JSON


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values of JSON that hold no others, with their paths."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    else:
        yield path, value


def replaced(value: Any, changes: Mapping[Path, Any], path: Path = ()) -> Any:
    """Return JSON with other values at some paths. Its keys and their order stay."""
    if path in changes:
        return changes[path]
    if isinstance(value, Mapping):
        return {name: replaced(inner, changes, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, changes, (*path, place)) for place, inner in enumerate(value)]
    return value


def written(value: Any, like: str) -> str:
    """Return JSON as text, spaced and ended as the result `like` is."""
    spaced = "\n" in like.strip()
    compact = not spaced and '": ' not in like
    text = json.dumps(value, ensure_ascii=False, indent=2 if spaced else None,
                      separators=(",", ":") if compact else None)
    return text + like[len(like.rstrip()):]


def shape(value: Any) -> Any:
    """Return JSON without its values: keys in their order, and lengths of lists."""
    if isinstance(value, Mapping):
        return {name: shape(inner) for name, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else None


def entries(lines: list[str]) -> list[int]:
    """Return the places of the lines that hold a value; of a text without such lines, those that are not empty."""
    found = [place for place, line in enumerate(lines) if _ENTRY.match(line)]
    return found or [place for place, line in enumerate(lines) if line.strip()]


def with_value(line: str, change: Callable[[str], str]) -> str:
    """Return a line whose value is changed; the key or the bullet before it stays."""
    key, value = keyed(line)
    return f"{key}{change(value)}"


def keyed(line: str) -> tuple[str, str]:
    """Return a line's key or bullet, and its value; of another line an empty key, and the line."""
    found = _ENTRY.match(line)
    return (found[1], found[2]) if found else ("", line)


def relevance(part: str, asked: str) -> int:
    """Return how many words of a question a part has."""
    return len(set(_WORD.findall(part.lower())) & set(_WORD.findall(asked.lower())))
