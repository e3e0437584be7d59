"""An environment package, after ScaleEnv (arXiv 2602.06820): immutable, named by the digest of its content.

Its files are `package.json` (tables, tools, graph, policy), `tools.py`, `tasks.jsonl` and `tests.jsonl`. The form is
Hone's: the paper released none.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from pydantic import Field, model_validator

from hone.environments.cell_classes import ColumnClass
from hone.spec import json_schema
from hone.spec.parameters import Strict

Tables = dict[str, dict[str, dict[str, Any]]]
"""Rows by table and by key: column -> value."""
NAME = r"^[a-z][a-z0-9_]{0,63}$"
MANIFEST, SOURCE, TASKS, TESTS = "package.json", "tools.py", "tasks.jsonl", "tests.jsonl"
FILES = (MANIFEST, SOURCE, TASKS, TESTS)
MOST_BYTES = 32 * 2**20
Part = TypeVar("Part", bound=Strict)


class WrongPackage(ValueError):
    """A package is not one. Holds the field, the value found and the expectation."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {str(found)[:200]!r}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


class Column(Strict):
    """A column of a table, and how its cells are compared in the end."""

    name: str = Field(pattern=NAME)
    type: Literal["text", "integer", "number", "boolean", "time"] = "text"
    kind: ColumnClass = "hard"
    optional: bool = False
    references: str | None = None  # name of a table whose keys are its values
    values: list[str] | None = None  # all of them, where it is an enumeration


class TableSpec(Strict):
    """A table. Its rows are named by the values of the column `key`."""

    name: str = Field(pattern=NAME)
    key: str
    columns: list[Column] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_key(self) -> "TableSpec":
        if self.key not in {column.name for column in self.columns}:
            raise ValueError(f"expected key to be one of the columns, found {self.key}")
        return self


class ToolSpec(Strict):
    """A tool: what an agent reads of it, and what it needs, gives, reads and writes.

    A fact is a kind of value that is known, such as `order_id`. A tool whose declared rejections are not met, and whose
    required facts are known, changes or tells something.
    """

    name: str = Field(pattern=NAME)
    description: str = Field(min_length=1, max_length=4000)
    parameters: dict[str, dict[str, Any]] = Field({})  # JSON schema of each
    required: list[str] = Field([])
    needs: list[str] = Field([])  # facts that its arguments are made of
    gives: list[str] = Field([])  # facts that its results tell
    reads: list[str] = Field([])  # tables
    writes: list[str] = Field([])  # tables; empty: it changes nothing
    rejects: list[str] = Field([])  # what it refuses, in words: the declared exceptions

    @property
    def described(self) -> dict[str, Any]:
        """The tool in OpenAI's format of functions."""
        return {"type": "function", "function": {
            "name": self.name, "description": self.description,
            "parameters": {"type": "object", "properties": self.parameters, "required": self.required}}}

    @property
    def closed_parameters(self) -> str:
        """The JSON Schema of the arguments of a call, which have no other names."""
        return json.dumps({"type": "object", "properties": self.parameters, "required": self.required,
                           "additionalProperties": False})


class Edge(Strict):
    """A step from one tool to another: an output is an input, a condition is met, or a table is shared."""

    source: str
    target: str
    kind: Literal["data", "order", "state"]


class ToolUse(Strict):
    """A call of a tool."""

    tool: str
    arguments: dict[str, Any] = Field({})


class PackageTask(Strict):
    """A task with its proof: the chain was executed on the initial state, and led to the truth."""

    id: str = Field(min_length=1, max_length=200)
    instruction: str = Field(min_length=1)
    initial: Tables
    truth: Tables
    chain: list[ToolUse] = Field(min_length=1)
    communicate: list[str] = Field([])  # phrases that the final answer has to have
    tools: list[str] = Field([])  # that are offered; empty: all
    difficulty: int = 1


class ToolTest(Strict):
    """A case of the procedural tester: a small state, a call, and what has to come of it."""

    tool: str
    tables: Tables
    arguments: dict[str, Any] = Field({})
    expected: Tables | None = None  # the state after it; None: the tool has to reject the call


class Manifest(Strict):
    """Content of a package."""

    domain: str = Field(pattern=NAME)
    summary: str = Field(min_length=1, max_length=500)
    policy: str = ""  # what an agent has to keep to
    tables: list[TableSpec] = Field(min_length=1)
    tools: list[ToolSpec] = Field(min_length=1)
    edges: list[Edge] = Field([])
    made_by: str = ""  # generator and seed, or model


@dataclass(frozen=True)
class Package:
    """A package. Equal contents have equal digests."""

    manifest: Manifest
    source: str  # tools.py: a function for each tool, see hone.environments.packages.calling
    tasks: Sequence[PackageTask]
    tests: Sequence[ToolTest] = ()

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The files by name, in canonical form."""
        return {MANIFEST: _json(self.manifest).encode() + b"\n", SOURCE: self.source.encode(),
                TASKS: _lines(self.tasks), TESTS: _lines(self.tests)}

    @cached_property
    def digest(self) -> str:
        """The sha256 of its files, hex."""
        each = {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}
        return hashlib.sha256(json.dumps(each, sort_keys=True).encode()).hexdigest()

    def wrong_arguments(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return the fault of a call's arguments; empty: none."""
        return json_schema.breach(self._schemas[tool], arguments)

    @cached_property
    def _schemas(self) -> dict[str, str]:
        return {tool.name: tool.closed_parameters for tool in self.manifest.tools}

    @cached_property
    def by_id(self) -> dict[str, PackageTask]:
        return {task.id: task for task in self.tasks}


def _json(part: Strict) -> str:
    return json.dumps(part.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _lines(parts: Sequence[Strict]) -> bytes:
    return "".join(f"{_json(part)}\n" for part in parts).encode()
