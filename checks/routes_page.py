"""Writes the table of routes in docs/rest.md from their declarations: `python -m checks.routes_page [--write]`.

A changed scope therefore shows in a diff. Without --write nothing changes, and the exit status is 1 where the table is
not what the routes declare.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checks import rendered
from hone.spec.settings import Settings
from services.gateway.app import create, declarations
from services.gateway.declarations import Declared

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rest.md"
BEGIN = "<!-- The table of routes is written by `python -m checks.routes_page --write`, and a check compares it. -->\n"
END = "<!-- End of the table of routes. -->\n"
_PAGES = {"limit", "after"}
"""Queries of every list, which the page explains once."""
_MOST_FIELDS = 10

Schema = Mapping[str, Any]


def page() -> str:
    """Return the page with the table as the routes declare it. Raises ValueError where the page lost its marks."""
    before, found, rest = PAGE.read_text().partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"expected {PAGE.name} to have the marks of the table of routes")
    return "".join([before, BEGIN, "\n", *_table(), "\n", END, after])


def _table() -> Iterator[str]:
    nothing: Any = None
    document = create(Settings(), nothing, nothing).openapi()
    routes = declarations().routes
    nouns = list(dict.fromkeys(one.noun for one in routes))
    yield "| noun | request | scope | takes | meaning |\n|---|---|---|---|---|\n"
    for one in sorted(routes, key=lambda one: nouns.index(one.noun)):
        yield _row(one, document)


def _row(one: Declared, document: Schema) -> str:
    path = one.path.replace(":path}", "}")
    operation = document["paths"][path][one.method.lower()]
    takes = ", ".join(f"`{name}`" for name in [*_queries(operation), *_bodies(operation, document)])
    return f"| {one.noun} | `{one.method} {path}` | {one.scope} | {takes} | {_meaning(operation)} |\n"


def _queries(operation: Schema) -> Iterator[str]:
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "query" and parameter["name"] not in _PAGES:
            yield f"?{parameter['name']}"


def _bodies(operation: Schema, document: Schema) -> Iterator[str]:
    """Yield the fields of each body; of a body with many fields that it is an object, of bytes their type."""
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        fields = _fields(content["schema"], document)
        yield "{…}" if len(fields) > _MOST_FIELDS else f"{{{', '.join(fields)}}}" if fields else kind


def _fields(schema: Schema, document: Schema) -> list[str]:
    for one in (schema, *schema.get("anyOf", [])):
        name = one.get("$ref", "").rpartition("/")[2]
        found = document["components"]["schemas"][name] if name else one
        if "properties" in found:
            return list(found["properties"])
    return []


def _meaning(operation: Schema) -> str:
    """Return the first sentence of an operation's description, as a table may hold it."""
    text = " ".join(operation["description"].split("\n\n")[0].split())
    sentence, dot, _ = text.partition(". ")
    return (sentence + dot.strip()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(rendered.main(PAGE, page(), "python -m checks.routes_page --write"))
