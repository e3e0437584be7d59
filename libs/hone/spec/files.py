"""Run specs as text: YAML or JSON files read into objects, and specs written as plain JSON."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hone.spec.problems import MOST_VALUES, Invalid, Problem, found, too_many
from hone.spec.run import RunSpec

Raw = dict[str, Any]
"""A run spec as a user wrote it, not yet checked."""

MOST_BYTES = 2**20
"""Of a text. The gateway takes no larger spec."""
_MOST_NODES, _DEEPEST = 2 * MOST_VALUES, 100
"""Keys and values of a text, and how deep they may be nested. A text with more is not read to its end."""
_LONGEST_NUMBER = 400
_WIDTH = 100
"""Characters of a line that as_text fills with a value in braces."""


def read(path: Path | str) -> Raw:
    """Return the object in a YAML or JSON file. Raises Invalid when there is none."""
    try:
        return parse(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise Invalid([Problem(str(path), error.strerror or "nothing", "a file that can be read")]) from None


def parse(text: bytes, name: str = "spec") -> Raw:
    """Return the object in a YAML or JSON text; problems call the text `name`. Raises Invalid."""
    if len(text) > MOST_BYTES:
        raise Invalid([Problem(name, f"{len(text)} bytes", f"at most {MOST_BYTES} bytes")])
    try:
        value = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date or a number that is none
        raise Invalid([Problem(name, " ".join(str(error).split()), "YAML or JSON")]) from None
    if many := too_many(value):  # as aliases of aliases make them: nothing below may go through all of it
        raise Invalid([many])
    if not isinstance(value, dict):
        raise Invalid([Problem(name, found(value), "an object with the keys of a run spec")])
    return value


def as_json(spec: RunSpec) -> Raw:
    """Return a spec as plain JSON, keys in the order of their definition."""
    return spec.model_dump(mode="json")


def as_text(raw: Raw) -> str:
    """Return a spec as YAML: a value on the line of its name where it fits, and below it where it does not."""
    return "".join(_lines(raw, ""))


def _lines(value: Raw, indent: str) -> Iterator[str]:
    for name, inner in value.items():
        line = f"{indent}{as_flow(name)}: {as_flow(inner)}\n"
        if len(line) <= _WIDTH or not isinstance(inner, dict) or not inner:
            yield line
        else:
            yield f"{indent}{as_flow(name)}:\n"
            yield from _lines(inner, f"{indent}  ")


def as_flow(value: Any) -> str:
    """Return a part of a spec as YAML in one line."""
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, allow_unicode=True,
                          width=math.inf)
    return text.removesuffix("...\n").strip()


class _Dumper(yaml.SafeDumper):
    """Writes a value that occurs twice twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


class _Loader(yaml.SafeLoader):
    """Reads numbers as JSON and YAML 1.2 do (2e-4 is a number), and refuses a repeated key.

    It refuses too many values before it has read them all, and numbers whose reading takes time.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._nodes = self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._nodes += 1
        self._depth += 1
        if self._nodes > _MOST_NODES or self._depth > _DEEPEST:
            many = f"more than {MOST_VALUES} values" if self._nodes > _MOST_NODES else f"more than {_DEEPEST} levels"
            raise yaml.MarkedYAMLError(problem=many, problem_mark=self.get_mark())
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set[str]()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                problem = f"the key {key} twice" if isinstance(key, str) else f"the key {key!r:.60}, not a text"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > _LONGEST_NUMBER:
            raise yaml.constructor.ConstructorError(
                None, None, f"a number of {len(node.value)} characters", node.start_mark)
        return int(super().construct_yaml_int(node))


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789."))
