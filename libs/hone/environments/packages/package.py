"""An environment package, after ScaleEnv (arXiv 2602.06820): immutable, named by the digest of its content.

Its files are `package.json` (tables, tools, graph, policy), `tools.py`, `tasks.jsonl` and `tests.jsonl`. The form is
Hone's: the paper released none.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from hone.environments.cell_classes import ColumnClass
from hone.spec import json_schema, strict_json
from hone.spec.findings import first
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
    """What a package is."""

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
        """Return what is wrong with the arguments of a call; empty: nothing."""
        return json_schema.breach(self._schemas[tool], arguments)

    @cached_property
    def _schemas(self) -> dict[str, str]:
        return {tool.name: tool.closed_parameters for tool in self.manifest.tools}

    @cached_property
    def by_id(self) -> dict[str, PackageTask]:
        return {task.id: task for task in self.tasks}


def read(files: Mapping[str, bytes]) -> Package:
    """Return the package of files. Raises WrongPackage."""
    if missing := [name for name in FILES if name not in files]:
        raise WrongPackage("files", sorted(files), f"also {', '.join(missing)}")
    if extra := sorted(set(files) - set(FILES)):
        raise WrongPackage("files", extra, f"{', '.join(FILES)} alone")
    if (size := sum(map(len, files.values()))) > MOST_BYTES:
        raise WrongPackage("files", f"{size} bytes", f"at most {MOST_BYTES}")
    manifest = _read(Manifest, files[MANIFEST], MANIFEST)
    tasks, tests = _each(PackageTask, files[TASKS], TASKS), _each(ToolTest, files[TESTS], TESTS)
    return _checked(Package(manifest, _text(files[SOURCE], SOURCE), tasks, tests))


def _checked(package: Package) -> Package:
    """Return a package whose parts fit each other. Raises WrongPackage."""
    names, tables = [tool.name for tool in package.manifest.tools], {one.name for one in package.manifest.tables}
    for place, tool in enumerate(package.manifest.tools):
        if tool.name in names[:place]:
            raise WrongPackage(f"{MANIFEST}.tools.{place}.name", tool.name, "a name that no other tool has")
        try:
            json_schema.compiled(tool.closed_parameters)
        except ValueError as error:
            raise WrongPackage(f"{MANIFEST}.tools.{place}.parameters", tool.name, str(error)) from error
    _check_names(package)
    for place, task in enumerate(package.tasks):
        at = f"{TASKS}.{place}"
        unknown = [use.tool for use in task.chain if use.tool not in names]
        if unknown:
            raise WrongPackage(f"{at}.chain", unknown[0], f"one of the tools {', '.join(names)}")
        for field, state in (("initial", task.initial), ("truth", task.truth)):
            if set(state) != tables:
                raise WrongPackage(f"{at}.{field}", sorted(state), f"the tables {', '.join(sorted(tables))}")
    for place, task in enumerate(package.tasks):
        if package.by_id[task.id] is not task:
            raise WrongPackage(f"{TASKS}.{place}.id", task.id, "an id that no other task has")
    return package


def _check_names(package: Package) -> None:
    """Raise WrongPackage for a name of a table or column that is there twice, and for one that names nothing."""
    for at, named in _lists_of_names(package.manifest):
        for place, name in enumerate(named):
            if name in named[:place]:
                raise WrongPackage(f"{at}.{place}.name", name, "a name that no other one has")
    for field, found, known in _references(package):
        if found not in known:
            raise WrongPackage(field, found, f"one of {', '.join(known) or 'none'}")


def _references(package: Package) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each name of a table, a tool or a parameter that a part uses: the field, the name, and what there is."""
    tools, tables = [tool.name for tool in package.manifest.tools], [one.name for one in package.manifest.tables]
    for place, table in enumerate(package.manifest.tables):
        for number, column in enumerate(table.columns):
            if column.references is not None:
                yield f"{MANIFEST}.tables.{place}.columns.{number}.references", column.references, tables
    for place, tool in enumerate(package.manifest.tools):
        at = f"{MANIFEST}.tools.{place}"
        yield from ((f"{at}.reads", name, tables) for name in tool.reads)
        yield from ((f"{at}.writes", name, tables) for name in tool.writes)
        yield from ((f"{at}.required", name, list(tool.parameters)) for name in tool.required)
    for place, edge in enumerate(package.manifest.edges):
        yield f"{MANIFEST}.edges.{place}.source", edge.source, tools
        yield f"{MANIFEST}.edges.{place}.target", edge.target, tools
    for place, task in enumerate(package.tasks):
        yield from ((f"{TASKS}.{place}.tools", name, tools) for name in task.tools)
    for place, test in enumerate(package.tests):
        yield f"{TESTS}.{place}.tool", test.tool, tools
        yield from ((f"{TESTS}.{place}.tables", name, tables) for name in test.tables)


def _lists_of_names(manifest: Manifest) -> Iterator[tuple[str, list[str]]]:
    """Yield the names that must differ from each other: of the tables, and of the columns of each."""
    yield f"{MANIFEST}.tables", [table.name for table in manifest.tables]
    for place, table in enumerate(manifest.tables):
        yield f"{MANIFEST}.tables.{place}.columns", [column.name for column in table.columns]


def _read(model: type[Part], data: bytes, at: str) -> Part:
    try:
        return model.model_validate(strict_json.read(_text(data, at)))
    except ValidationError as error:
        raise WrongPackage(*first(error, at, model=model)) from error
    except ValueError as error:
        raise WrongPackage(at, data[:100], f"JSON ({error})") from error


def _each(model: type[Part], data: bytes, at: str) -> list[Part]:
    lines = [line for line in _text(data, at).split("\n") if line.strip()]
    return [_read(model, line.encode(), f"{at}.{place}") for place, line in enumerate(lines)]


def _text(data: bytes, at: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WrongPackage(at, data[:20], "text in UTF-8") from error


def _json(part: Strict) -> str:
    return json.dumps(part.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _lines(parts: Sequence[Strict]) -> bytes:
    return "".join(f"{_json(part)}\n" for part in parts).encode()
