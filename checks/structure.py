"""Measures the shape of the code and refuses what the rules do not allow.

`python -m checks.structure` prints a table, in Markdown with `--markdown`, and every breach; it ends with 1 if there
is one. The rules: functions have at most 60 lines, at least 90 % of them at most 40, half of them at most 10; files at
most 400 lines; modules are nouns; names use the glossary's words; a service, or a package of libs/hone, has one class
of a name; no SQL text stands in Python.
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("libs/hone", "services", "checks", "benchmarks", "tests")
GENERATED = "libs/hone/api"
LONGEST_FUNCTION, USUAL_FUNCTION, MEDIAN_FUNCTION, LONGEST_FILE = 60, 40, 10, 400
USUAL_SHARE = 0.9
PRIVATE_WORDS = {
    "told": "reported, logged, message, figures or found", "tally": "metric_sums", "crew": "rank_group",
    "lane": "operation_log or executor", "roster": "registration", "resident": "loaded_model", "patience": "retry",
    "speaker": "role_tokenizer", "prior": "reference_pass",
}
"""Words that only this project's first authors understood, with those that replace them; also in the plural."""
NAMELESS = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}
_SQL = re.compile(
    r"^\s*(SELECT\s.+\sFROM\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|CREATE\s+(TABLE|ROLE|DATABASE|INDEX)\s"
    r"|ALTER\s+(TABLE|ROLE)\s|TRUNCATE\s|LISTEN\s|NOTIFY\s)", re.DOTALL)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MEASURED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.arg, ast.Name, ast.Attribute, ast.Constant)
_SERVED = ("libs/", "services/")  # tests and benchmarks look at the rows from outside
_SQL_ALLOWED = {
    "libs/hone/store/notifications.py",  # LISTEN takes no parameters, so the channel is put in there
    "libs/hone/environments/sqlite.py",  # its tasks are about SQL
    "libs/hone/environments/sql_databases.py",  # so are these
    "libs/hone/environments/sql_reading.py",  # it reads SQLite's own tables
    "libs/hone/environments/sql_tables.py",  # it reads tables of any name
    "libs/hone/environments/sql_instances.py",  # it copies tables of any name inside SQLite
    "libs/hone/graders/sql.py",  # it tests SQLite before it grades
}


@dataclass(frozen=True)
class Function:
    """A function's place and its length, from its first decorator or `def` to its last line."""

    place: str
    lines: int


@dataclass(frozen=True)
class Module:
    """What is measured of one file."""

    path: str
    lines: int
    functions: list[Function]
    classes: list[tuple[str, int]]  # name and line
    names: list[tuple[str, int]]  # of functions, classes, arguments and variables, with their lines
    sql: list[int]


def measure(path: Path, root: Path = ROOT) -> Module:
    """Read one file. Raises SyntaxError."""
    text, name = path.read_text(), path.relative_to(root).as_posix()
    nodes = [node for node in ast.walk(ast.parse(text, name)) if isinstance(node, _MEASURED)]
    functions = [Function(f"{name}:{node.lineno} {node.name}", _length(node)) for node in nodes
                 if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [(node.name, node.lineno) for node in nodes if isinstance(node, ast.ClassDef)]
    return Module(name, len(text.splitlines()), functions, classes, list(_defined(nodes)), list(_sql_lines(nodes)))


def modules(root: Path = ROOT) -> list[Module]:
    """Measure every file that people write."""
    found = (path for source in SOURCES for path in sorted((root / source).rglob("*.py")))
    return [measure(path, root) for path in found if not path.relative_to(root).as_posix().startswith(GENERATED)]


def breaches(found: list[Module]) -> list[str]:
    """Return one line for every rule that is broken, saying where, what was found and what was expected."""
    return [*_long_functions(found), *_distribution(found), *_long_files(found), *_modules(found), *_words(found),
            *_twins(found), *_sql(found)]


def rows(found: list[Module]) -> list[tuple[str, ...]]:
    """Return the table that the README shows: a row for each part of the tree."""
    parts = [(source, [module for module in found if module.path.startswith(f"{source}/")]) for source in SOURCES]
    return [_row(name, members) for name, members in [*parts, ("all", found)] if members]


def _row(name: str, members: list[Module]) -> tuple[str, ...]:
    lengths = [function.lines for module in members for function in module.functions] or [0]
    share = sum(length <= USUAL_FUNCTION for length in lengths) / len(lengths)
    sizes = [module.lines for module in members]
    return (
        name, str(len(members)), str(sum(sizes)), str(max(sizes)), str(len(lengths)), f"{statistics.median(lengths):g}",
        f"{share:.1%}", str(max(lengths)))


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return (node.end_lineno or node.lineno) - first + 1


def _defined(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield every name that a module gives something, with its line."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno


def _sql_lines(nodes: Iterable[ast.AST]) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else node.value.decode(errors="replace")
            if _SQL.match(text):
                yield node.lineno


def _source(found: list[Module]) -> list[Module]:
    return [module for module in found if not module.path.startswith("tests/")]


def _long_functions(found: list[Module]) -> Iterator[str]:
    for function in (function for module in found for function in module.functions):
        if function.lines > LONGEST_FUNCTION:
            yield f"{function.place}: found {function.lines} lines, expected at most {LONGEST_FUNCTION}"


def _distribution(found: list[Module]) -> Iterator[str]:
    lengths = [function.lines for module in _source(found) for function in module.functions]
    share = sum(length <= USUAL_FUNCTION for length in lengths) / len(lengths) if lengths else 1.0
    if share < USUAL_SHARE:
        yield f"functions: found {share:.1%} of at most {USUAL_FUNCTION} lines, expected at least {USUAL_SHARE:.0%}"
    if lengths and statistics.median(lengths) > MEDIAN_FUNCTION:
        yield f"functions: found a median of {statistics.median(lengths):g} lines, expected at most {MEDIAN_FUNCTION}"


def _long_files(found: list[Module]) -> Iterator[str]:
    for module in found:
        if module.lines > LONGEST_FILE:
            yield f"{module.path}: found {module.lines} lines, expected at most {LONGEST_FILE}"


def _modules(found: list[Module]) -> Iterator[str]:
    for module in found:
        bad = NAMELESS & set(Path(module.path).with_suffix("").parts)
        if bad:
            yield f"{module.path}: found a module called {min(bad)}, expected a noun that says what is in it"


def _words(found: list[Module]) -> Iterator[str]:
    for module in found:
        for name, line in [(Path(module.path).stem, 1), *module.names]:
            words = {word.lower().removesuffix("s") for word in _WORD.findall(name)}
            for word in sorted(words & PRIVATE_WORDS.keys()):
                yield f"{module.path}:{line}: found {name}, expected {PRIVATE_WORDS[word]} instead of {word}"


def _twins(found: list[Module]) -> Iterator[str]:
    places: dict[tuple[str, str], list[str]] = {}
    for module in found:
        if module.path.startswith(_SERVED):
            for name, line in module.classes:
                places.setdefault((_package(module.path), name), []).append(f"{module.path}:{line}")
    for (package, name), found_at in sorted(places.items()):
        if len(found_at) > 1:
            yield f"{package}: found class {name} in {' and '.join(found_at)}, expected one class of a name"


def _package(path: str) -> str:
    """Return the service, or the package of libs/hone, that a file belongs to."""
    parts = Path(path).parts
    return "/".join(parts[:3] if parts[0] == "libs" else parts[:2])


def _sql(found: list[Module]) -> Iterator[str]:
    for module in found:
        if module.path.startswith(_SERVED) and module.path not in _SQL_ALLOWED:
            for line in module.sql:
                yield f"{module.path}:{line}: found SQL text, expected a named statement in libs/hone/store/queries"


HEAD = ("part", "files", "lines", "longest file", "functions", "median lines", "at most 40 lines", "longest function")


def main(arguments: list[str]) -> int:
    found = modules()
    table = [HEAD, *rows(found)]
    if "--markdown" in arguments:
        table.insert(1, tuple("---" for _ in HEAD))
        print("\n".join(f"| {' | '.join(row)} |" for row in table))
    else:
        widths = [max(len(row[column]) for row in table) for column in range(len(HEAD))]
        print("\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table))
    wrong = breaches(found)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
