"""Reads the files of a package: each part by its form, and all parts against each other."""

import json
import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from hone.environments.packages.calling import MOST_STATE_BYTES, PREAMBLE
from hone.environments.packages.package import (
    FILES,
    MANIFEST,
    MOST_BYTES,
    SOURCE,
    TASKS,
    TESTS,
    Manifest,
    Package,
    PackageTask,
    Part,
    Tables,
    ToolTest,
    WrongPackage,
)
from hone.environments.packages.state_form import unfit, wrong_rows
from hone.sandbox.program import MOST_SOURCE_BYTES
from hone.spec import json_schema, strict_json
from hone.spec.findings import first


def read(files: Mapping[str, bytes], *, trusted: bool = False) -> Package:
    """Return the package of files. The states of a `trusted` one, which was read before, are not looked at again.

    Raises WrongPackage.
    """
    if missing := [name for name in FILES if name not in files]:
        raise WrongPackage("files", sorted(files), f"also {', '.join(missing)}")
    if extra := sorted(set(files) - set(FILES)):
        raise WrongPackage("files", extra, f"{', '.join(FILES)} alone")
    if (size := sum(map(len, files.values()))) > MOST_BYTES:
        raise WrongPackage("files", f"{size} bytes", f"at most {MOST_BYTES}")
    manifest = _read(Manifest, files[MANIFEST], MANIFEST)
    tasks, tests = _each(PackageTask, files[TASKS], TASKS), _each(ToolTest, files[TESTS], TESTS)
    package = _checked(Package(manifest, _text(files[SOURCE], SOURCE), tasks, tests))
    if not trusted:
        _check_playable(package)
    return package


def _check_playable(package: Package) -> None:
    """Raise WrongPackage for a package that has no task, or one whose calls could not be made, and for a wrong row."""
    if not package.tasks:
        raise WrongPackage(TASKS, "no line", "at least one task")
    if (size := len((PREAMBLE + package.source).encode())) > MOST_SOURCE_BYTES:
        raise WrongPackage(SOURCE, f"{size} bytes", f"at most {MOST_SOURCE_BYTES}")
    for place, tool in enumerate(package.manifest.tools):
        if not re.search(rf"\b{tool.name}\b", package.source):
            raise WrongPackage(f"{MANIFEST}.tools.{place}.name", tool.name, f"the name of a function of {SOURCE}")
        if "db" in tool.parameters:
            raise WrongPackage(f"{MANIFEST}.tools.{place}.parameters", "db", "names other than that of the tables")
    specs = {table.name: table for table in package.manifest.tables}
    for field, tables in _states(package):
        if wrong := wrong_rows(specs, tables):
            raise WrongPackage(f"{field}.{wrong.field}", wrong.found, wrong.expected)
        if (size := len(json.dumps(tables))) > MOST_STATE_BYTES:
            raise WrongPackage(field, f"{size} characters of JSON", f"at most {MOST_STATE_BYTES}")


def _states(package: Package) -> Iterator[tuple[str, Tables]]:
    """Yield the states of a package with their fields."""
    for place, task in enumerate(package.tasks):
        yield f"{TASKS}.{place}.initial", task.initial
        yield f"{TASKS}.{place}.truth", task.truth
    for place, test in enumerate(package.tests):
        yield f"{TESTS}.{place}.tables", test.tables
        if test.expected is not None:
            yield f"{TESTS}.{place}.expected", test.expected


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
                raise WrongPackage(f"{at}.{place}.name", name, "a name that is not used twice")
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
        yield from ((f"{TESTS}.{place}.expected", name, tables) for name in test.expected or {})


def _lists_of_names(manifest: Manifest) -> Iterator[tuple[str, list[str]]]:
    """Yield the names that must differ from each other: of the tables, and of the columns of each."""
    yield f"{MANIFEST}.tables", [table.name for table in manifest.tables]
    for place, table in enumerate(manifest.tables):
        yield f"{MANIFEST}.tables.{place}.columns", [column.name for column in table.columns]


def _read(model: type[Part], data: bytes, at: str) -> Part:
    try:
        given = strict_json.read(_text(data, at))
        if wrong := unfit(given):
            raise WrongPackage(f"{at}.{wrong.field}".rstrip("."), wrong.found, wrong.expected)
        return model.model_validate(given)
    except WrongPackage:
        raise
    except ValidationError as error:
        raise WrongPackage(*first(error, at, model=model)) from error
    except ValueError as error:
        raise WrongPackage(at, data[:100], f"JSON ({error})") from error


def _each(model: type[Part], data: bytes, at: str) -> list[Part]:
    lines = [line for line in _text(data, at).split("\n") if line.strip()]
    return [_read(model, line.encode(), f"{at}.{place}") for place, line in enumerate(lines)]


def _text(data: bytes, at: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise WrongPackage(at, data[:20], "text in UTF-8") from error
    if "\0" in text:
        raise WrongPackage(at, "a NUL character", "text without one")
    return text
