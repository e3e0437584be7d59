"""Run specs as text: YAML or JSON files read into objects, and specs written as plain JSON."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hone.spec.problems import Invalid, Problem, found, too_many
from hone.spec.run import RunSpec

Raw = dict[str, Any]
"""A run spec as a user wrote it, not yet checked."""

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
    try:
        value = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid([Problem(name, " ".join(str(error).split()), "YAML or JSON")]) from None
    if not isinstance(value, dict):
        raise Invalid([Problem(name, found(value), "an object with the keys of a run spec")])
    if many := too_many(value):  # as aliases of aliases make them
        raise Invalid([many])
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
    """Reads numbers as JSON and YAML 1.2 do (2e-4 is a number), and refuses a repeated key."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                problem = f"the key {key} twice" if key in seen else f"the key {key!r}, which is no text"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789."))
