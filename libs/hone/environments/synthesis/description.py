"""Checks of the description of a domain that an author wrote, before anything is built on it."""

import ast
import keyword
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from hone.environments.packages.package import Manifest, TableSpec, ToolSpec

MOST_TABLES, MOST_TOOLS = 30, 80
_KEYWORDS = frozenset((
    "type", "description", "enum", "items", "properties", "required", "additionalProperties", "minimum", "maximum",
    "minLength", "maxLength", "minItems", "maxItems"))
"""Of JSON schema, for parameters: none that fetches something or can take for ever, as references and patterns may."""


def wrong_manifest(manifest: Manifest) -> str:
    """Return the fault of the description of a domain; empty: none."""
    return next(_problems(manifest), "")


def _problems(manifest: Manifest) -> Iterator[str]:
    tables, tools = ([one.name for one in group] for group in (manifest.tables, manifest.tools))
    if len(tables) > MOST_TABLES or len(tools) > MOST_TOOLS:
        yield f"expected at most {MOST_TABLES} tables and {MOST_TOOLS} tools, found {len(tables)} and {len(tools)}"
    if len(set(tables)) < len(tables) or len(set(tools)) < len(tools):
        yield "tables and tools need names of their own"
    unknown = {name for tool in manifest.tools for name in [*tool.reads, *tool.writes]} | {
        column.references for table in manifest.tables for column in table.columns if column.references}
    if missing := sorted(unknown - set(tables)):
        yield f"tables: found no {missing[0]}, which is named elsewhere"
    for table in manifest.tables:
        yield from _of_table(table)
    for tool in manifest.tools:
        yield from _of_tool(tool)


def _of_table(table: TableSpec) -> Iterator[str]:
    names = [column.name for column in table.columns]
    if len(set(names)) < len(names):
        yield f"tables.{table.name}: columns need names of their own"
    for column in table.columns:
        if (column.name == table.key or column.references) and column.type != "text":
            yield f"tables.{table.name}.{column.name}: expected the type text, as keys of rows have it"


def _of_tool(tool: ToolSpec) -> Iterator[str]:
    at = f"tools.{tool.name}"
    if keyword.iskeyword(tool.name):
        yield f"{at}: expected a name that is no word of Python"
    for name, schema in tool.parameters.items():
        if not name.isidentifier() or keyword.iskeyword(name) or name == "db":
            yield f"{at}.parameters: expected names of Python's arguments other than db, found {name!r}"
        yield from _of_schema(f"{at}.parameters.{name}", schema)
    if unknown := sorted(set(tool.required) - set(tool.parameters)):
        yield f"{at}.required: found {unknown[0]}, expected names of its parameters"


def _of_schema(at: str, schema: dict[str, Any]) -> Iterator[str]:
    if strange := sorted(set(_words(schema)) - _KEYWORDS):
        yield f"{at}: found {strange[0]}, expected {', '.join(sorted(_KEYWORDS))} alone"
        return
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        yield f"{at}: expected JSON schema ({str(error).splitlines()[0][:200]})"


def _words(schema: Any) -> Iterator[str]:
    """Yield the keywords of a schema and of those in it."""
    if not isinstance(schema, dict):
        return
    yield from schema
    inner = schema.get("properties")
    for one in [schema.get("items"), schema.get("additionalProperties"),
                *(inner.values() if isinstance(inner, dict) else ())]:
        yield from _words(one)


def wrong_source(tool: str, source: str) -> str:
    """Return the fault of the code of a tool; empty: none.

    All tools stand in one file, so code may hold imports, the tool's function and functions named `_TOOL_...` alone.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"source: expected Python, found {type(error).__name__}: {error}"
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if tool not in functions:
        return f"source: expected a function {tool}, found {functions}"
    strange = [name for name in functions if name != tool and not name.startswith(f"_{tool}_")]
    others = [node for node in body if not isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom)]
    if strange or any(not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant) for node in others):
        found = ", ".join(strange) or "other code"
        return f"source: expected imports, {tool} and functions named _{tool}_... alone, found {found}"
    return ""
