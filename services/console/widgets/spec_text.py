"""A run spec as a text that a person edits: its object, the places of fields and problems, single fields set."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml

from hone.spec import files
from hone.spec.files import Raw
from hone.spec.problems import MOST_VALUES, Invalid, Problem

LONGEST = 256 * 1024
"""Characters of the longest text that is read."""

_MOST_EVENTS = 3 * MOST_VALUES
"""Values, keys, and beginnings and ends of objects and lists. A text with more is not read to its end."""
_DEEPEST = 100
"""Lists and objects inside each other. Each level makes the next one slower to read."""
_ROOT = ""


class Place(NamedTuple):
    """Characters of a text from `start` to before `end`, and the line of the first, counted from 1."""

    start: int
    end: int
    line: int


@dataclass(frozen=True)
class LocatedProblem:
    """A problem, and the place of its field; None for a field that the text does not have."""

    problem: Problem
    place: Place | None

    @property
    def line(self) -> int | None:
        return self.place.line if self.place else None


class Unreadable(ValueError):
    """The text is no spec. `located` says why and where."""

    def __init__(self, found: str, expected: str, place: Place | None = None, field: str = "text") -> None:
        self.located = LocatedProblem(Problem(field, found, expected), place)
        super().__init__(str(self.located.problem))


def read(text: str) -> Raw:
    """Return the object that a text describes. Raises Unreadable."""
    root = _compose(text)
    if root is None:
        raise Unreadable("nothing", "the fields of a run spec")
    if not isinstance(root, yaml.MappingNode):
        raise Unreadable(text.strip()[:80], "fields with values, such as name: my run", _place(root, text))
    try:
        return files.parse(text.encode())
    except Invalid as error:
        line = re.search(r"line (\d+)", error.problems[0].found)
        place = _line_place(text, int(line[1])) if line else None
        raise Unreadable(error.problems[0].found, error.problems[0].expected, place) from None
    except UnicodeEncodeError:
        raise Unreadable("a lone surrogate", "text that UTF-8 can write") from None


def _compose(text: str) -> yaml.Node | None:
    """Return the tree of a text. Raises Unreadable."""
    if len(text) > LONGEST:
        raise Unreadable(f"{len(text):,} characters", f"at most {LONGEST:,}")
    depth = 0
    try:
        for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if number > _MOST_EVENTS:
                raise Unreadable("more values than a spec has", f"at most {MOST_VALUES} values")
            if depth > _DEEPEST:
                raise Unreadable("values that are nested too deep", f"at most {_DEEPEST} levels")
            if isinstance(event, yaml.AliasEvent):  # a few of them can stand for more values than memory holds
                raise Unreadable(f"the alias *{event.anchor}", "the value itself",
                                 _line_place(text, event.start_mark.line + 1 if event.start_mark else 1))
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _line_place(text, mark.line + 1) if mark else None
        raise Unreadable(error.problem or error.context or "something else", "YAML", place) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise Unreadable(" ".join(str(error).split()) or "values that are nested too deep", "YAML") from None


def _line_place(text: str, line: int) -> Place:
    lines = text.splitlines(keepends=True)
    line = max(1, min(line, len(lines)))
    start = sum(map(len, lines[:line - 1]))
    return Place(start, start + len(lines[line - 1].rstrip()) if lines else start, line)


def places(text: str) -> dict[str, Place]:
    """Return the place of each value by its path, such as algorithm.regularizers.0.name. Raises Unreadable."""
    root = _compose(text)
    return dict(_places(root, text, _ROOT)) if root is not None else {}


def _places(node: yaml.Node, text: str, path: str) -> Iterator[tuple[str, Place]]:
    yield path, _place(node, text)
    for name, inner in _inner(node):
        yield from _places(inner, text, f"{path}.{name}" if path else name)


def _inner(node: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((str(key.value), value) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((str(place), value) for place, value in enumerate(node.value))


def _place(node: yaml.Node, text: str) -> Place:
    start, end = node.start_mark.index, node.end_mark.index
    # The end of a block is the beginning of what follows it.
    end = start + len(text[start:end].rstrip())
    return Place(start, end, node.start_mark.line + 1)


def locate(problems: Sequence[Problem], text: str) -> list[LocatedProblem]:
    """Return problems with their places, in the order of the text; those without a place come first."""
    try:
        known = places(text)
    except Unreadable:
        known = {}
    found = [LocatedProblem(one, _nearest(one.field, known)) for one in problems]
    return sorted(found, key=lambda one: one.line or 0)


def _nearest(field: str, known: dict[str, Place]) -> Place | None:
    """Return the place of a field, or of the nearest field around it that the text has."""
    path = re.sub(r"\[(\d+)\]", r".\1", field)
    while path:
        if path in known:
            return known[path]
        path = path.rpartition(".")[0]
    return None


def with_field(text: str, path: str, value: Any) -> str:
    """Return the text with the value of one field replaced or added; everything else stays. Raises Unreadable."""
    root = _compose(text)
    if root is None:
        return _below(text, path, value)
    owner_path, _, name = path.rpartition(".")
    known = dict(_places(root, text, _ROOT))
    if path in known:
        return text[:known[path].start] + files.as_flow(value) + text[known[path].end:]
    if not owner_path:
        return _below(text, name, value)
    owner = _at(root, owner_path)
    if not isinstance(owner, yaml.MappingNode):
        return with_field(text, owner_path, {name: value})
    return _inserted(text, owner, f"{name}: {files.as_flow(value)}")


def _below(text: str, path: str, value: Any) -> str:
    """Return the text with a field of the spec below its last line."""
    name, _, rest = path.partition(".")
    above = f"{text.rstrip()}\n" if text.strip() else text
    return above + files.as_text({name: {rest: value} if rest else value})


def _at(root: yaml.Node, path: str) -> yaml.Node | None:
    node: yaml.Node | None = root
    for name in path.split("."):
        node = dict(_inner(node)).get(name) if node is not None else None
    return node


def _inserted(text: str, owner: yaml.MappingNode, entry: str) -> str:
    """Return the text with an entry before the first of a mapping."""
    at = owner.start_mark.index + (1 if owner.flow_style else 0)
    after = "" if not owner.value else ", " if owner.flow_style else f"\n{' ' * owner.start_mark.column}"
    return text[:at] + entry + after + text[at:]
