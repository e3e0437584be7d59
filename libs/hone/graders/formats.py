"""Texts in JSON, YAML, TOML, XML and CSV as values of JSON. What readers may understand differently is no value."""

import csv
import datetime
import math
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal
from xml.etree import ElementTree

import yaml

from hone.spec import strict_json

Format = Literal["json", "yaml", "toml", "xml", "csv"]
DEEPEST = 64
"""Most objects and lists inside each other."""
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*")
_LANGUAGES: Mapping[str, frozenset[str]] = {
    "json": frozenset({"", "json", "jsonc", "json5"}), "yaml": frozenset({"", "yaml", "yml"}),
    "toml": frozenset({"", "toml"}), "xml": frozenset({"", "xml"}), "csv": frozenset({"", "csv"}),
}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LONG_KEY = re.compile(rf"(?<![\w\"'.-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{DEEPEST},}}")
"""Python's reader takes the square of the time for the parts of a key."""
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Unparsed(ValueError):
    """A text is not in its format. The message says what was found."""


def fenced(text: str, form: Format) -> str | None:
    """Return the inside of the last code block in a format's name or without a name; None where there is none.

    A block that is never closed goes to the end.
    """
    found = [inside for language, inside in blocks(text) if language.lower() in _LANGUAGES[form]]
    return found[-1] if found else None


def named_block(text: str, names: Container[str]) -> str | None:
    """Return the inside of the last code block that has one of the names, or else of the last one without a name."""
    found = {language.lower() in names: inside for language, inside in blocks(text)
             if not language or language.lower() in names}
    return found.get(True, found.get(False))


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the inside of each code block."""
    fence, language, inside = "", "", list[str]()
    for line in text.splitlines(keepends=True):
        found = _FENCE.fullmatch(line.rstrip())
        if fence and found and found[1].startswith(fence) and not found[2]:
            yield language, "".join(inside)
            fence, inside = "", []
        elif fence:
            inside.append(line)
        elif found:
            fence, language = found[1], found[2]
    if fence:
        yield language, "".join(inside)


def parsed(text: str, form: Format) -> Any:
    """Return the value of a text as JSON would have it. Raises Unparsed.

    Dates become texts. Elements of XML become objects: attributes by `@name`, text beside them as `#text`, elements of
    one name a list. A table of CSV is a list of objects by the names in its first row. In XML and CSV a text that is
    written like a number or a truth value of JSON is one.
    """
    try:
        return _plain(_READERS[form](text), DEEPEST)
    except Unparsed:
        raise
    except RecursionError as error:
        raise Unparsed("it is nested too deep") from error
    except (ValueError, TypeError, ArithmeticError, yaml.YAMLError, ElementTree.ParseError, csv.Error) as error:
        raise Unparsed(" ".join(str(error).split())[:300]) from error


def _plain(value: Any, levels: int) -> Any:
    """Return a value with keys that are texts, and dates as texts. Raises Unparsed for what JSON has not."""
    if levels < 0:
        raise Unparsed(f"it has more than {DEEPEST} levels")
    if isinstance(value, dict):
        made = {_key(key): _plain(inside, levels - 1) for key, inside in value.items()}
        if len(made) < len(value):
            raise Unparsed("a key stands twice")
        return made
    if isinstance(value, list):
        return [_plain(inside, levels - 1) for inside in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise Unparsed(f"{value} is not a finite number")
    if value is None or isinstance(value, str | int | float):
        return value
    raise Unparsed(f"JSON has no type for a value of type {type(value).__name__}")


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, str | int | float):
        return str(key)
    if isinstance(key, datetime.date):
        return key.isoformat()
    raise Unparsed(f"JSON has no type for a key of type {type(key).__name__}")


class _YamlLoader(_Loader):  # type: ignore[misc]  # its class is known only when it runs
    """YAML's safe values, without a key twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if any(not isinstance(key, str | int | float | datetime.date) for key in keys):
            raise Unparsed("a key is not a text")
        if len(set(keys)) < len(keys):
            raise Unparsed("a key stands twice")
        return super().construct_mapping(node, deep)


def _yaml(text: str) -> Any:
    """Read one document without aliases: a few of them make a value of any size."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_Loader)):
        raise Unparsed("aliases are not read")
    return yaml.load(text, Loader=_YamlLoader)


def _toml(text: str) -> Any:
    if _LONG_KEY.search(text):
        raise Unparsed(f"a key has more than {DEEPEST} parts")
    return tomllib.loads(text)


def _xml(text: str) -> Any:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Unparsed("a document type is not read")
    root = ElementTree.fromstring(text.strip())
    return {root.tag: _element(root, DEEPEST)}


def _element(element: ElementTree.Element, levels: int) -> Any:
    if levels < 0:
        raise Unparsed(f"it has more than {DEEPEST} levels")
    made: dict[str, Any] = {f"@{name}": _typed(value) for name, value in element.attrib.items()}
    lists: dict[str, list[Any]] = {}
    for inside in element:
        lists.setdefault(inside.tag, []).append(_element(inside, levels - 1))
    made |= {name: values if len(values) > 1 else values[0] for name, values in lists.items()}
    said = "".join([element.text or "", *(inside.tail or "" for inside in element)]).strip()
    return made | ({"#text": _typed(said)} if said else {}) if made else _typed(said)


def _csv(text: str) -> Any:
    rows = [row for row in csv.reader(text.strip("\r\n").splitlines(keepends=True), strict=True) if row]
    if not rows:
        raise Unparsed("it has no row")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        raise Unparsed("a column stands twice")
    for number, row in enumerate(islice(rows, 1, None), start=2):
        if len(row) != len(names):
            raise Unparsed(f"row {number} has {len(row)} cells instead of {len(names)}")
    return [dict(zip(names, map(_typed, map(str.strip, row)), strict=True)) for row in rows[1:]]


def _typed(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    number = _NUMBER.fullmatch(text)
    return text if number is None else float(text) if number[2] or number[3] else int(text)


_READERS: Mapping[Format, Callable[[str], Any]] = {
    "json": strict_json.read, "yaml": _yaml, "toml": _toml, "xml": _xml, "csv": _csv,
}


def shown(reasons: Iterable[str], most: int = 5) -> tuple[str, ...]:
    """Return the first reasons, each shortened."""
    return tuple(reason[:300] for reason in islice(reasons, most))
