"""The OpenAPI document: the routes as FastAPI knows them, and every refusal that a route may answer with.

What is written here is kept by two tests: the document is valid, and thousands of made-up requests get no other answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from services.gateway.declarations import OPEN_PATHS
from services.gateway.middleware import errors

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
_CHANGES = {"put", "post", "delete", "patch"}
_SCHEMAS = "#/components/schemas/"
_PROBLEM = {errors.MEDIA_TYPE: {"schema": {"$ref": _SCHEMAS + errors.ProblemDocument.__name__}}}

REFUSALS: Mapping[int, str] = {
    400: "The body cannot be read.",
    401: "The request has no valid API key.",
    403: "The key's scopes do not allow this.",
    404: "Nothing has this name.",
    405: "The path has no such method.",
    408: "The body did not arrive in time.",
    409: "The request does not fit the present state.",
    413: "The body is larger than this gateway accepts.",
    422: "The content is wrong. `errors` names each field, the value found and the value expected.",
    429: "The tenant has too many requests open at a time. Try again.",
    503: "A service that the gateway needs does not answer. Try again.",
    507: "The object store is full.",
}
"""Status of each refusal, and what it says. 500 is a defect and no part of the contract."""

_HEADERS = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}


class Gateway(FastAPI):
    """An application whose document tells what it does."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 document. Raises ValueError if two different schemas have one name."""
        if self.openapi_schema is None:
            self.openapi_schema = _completed(super().openapi())
        return self.openapi_schema


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """Add the refusals of each operation, and give every inner schema its place among the components."""
    components = document["components"]
    schemas = components["schemas"]
    for body in _bodies(document):
        _move_definitions(body["schema"], schemas)
        _name(body, schemas)
    for schema in [*schemas.values()]:
        _move_definitions(schema, schemas)
    schemas[errors.ProblemDocument.__name__] = errors.ProblemDocument.model_json_schema(
        ref_template=_SCHEMAS + "{model}")
    _move_definitions(schemas[errors.ProblemDocument.__name__], schemas)
    components["responses"] = {str(status): _refusal(status) for status in REFUSALS}
    for path, methods in document["paths"].items():
        for method in methods.keys() & METHODS:
            operation = methods[method]
            refusals = {*_statuses(path, method, operation), *_declared(operation)}
            operation["responses"] = {
                **{status: answer for status, answer in operation["responses"].items() if status[0] == "2"},
                **{str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(refusals)}}
            if path in OPEN_PATHS:
                operation["security"] = []
    for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's own refusal, which is never answered
        schemas.pop(unused, None)
    return document


def _declared(operation: Mapping[str, Any]) -> set[int]:
    """Return the refusals that the route names itself, besides those of its kind."""
    return {int(status) for status in operation["responses"] if status[0] in "45" and int(status) != 422}


def _statuses(path: str, method: str, operation: Mapping[str, Any]) -> Iterator[int]:
    """Yield the refusals that operations of this kind may answer with."""
    body = "requestBody" in operation
    yield from (400,) if body else ()
    yield from () if path in OPEN_PATHS else (401, 403, 429)
    yield from (404,) if "{" in path else ()
    yield 405
    yield 408  # also of a body that the operation would not read
    yield from (409,) if method in _CHANGES else ()
    yield 413  # also a body that the operation would not read
    yield from (422,) if body or operation.get("parameters") else ()
    yield 503
    yield from (507,) if body else ()


def _refusal(status: int) -> dict[str, Any]:
    header = _HEADERS.get(status)
    headers = {"headers": {header: {"schema": {"type": "string"}}}} if header else {}
    return {"description": REFUSALS[status], "content": _PROBLEM, **headers}


def _bodies(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the bodies of requests, each with its `schema`."""
    for methods in document["paths"].values():
        for method in methods.keys() & METHODS:
            yield from methods[method].get("requestBody", {}).get("content", {}).values()


def _name(body: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Move the schema of a body that has a title among the components, so that clients are generated with its name."""
    name = body["schema"].get("title")
    if name is not None and "properties" in body["schema"]:
        schemas[name] = body["schema"]
        body["schema"] = {"$ref": _SCHEMAS + name}


def _move_definitions(schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Move the $defs of a schema among the components: within a document its references would lead nowhere."""
    definitions = schema.pop("$defs", {})
    _point(schema)
    for name, definition in definitions.items():
        _point(definition)
        if schemas.setdefault(name, definition) != definition:
            raise ValueError(f"two schemas are called {name}: give one of the models another name")


def _point(schema: Any) -> None:
    """Make references to $defs lead to the components."""
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            schema["$ref"] = reference.replace("#/$defs/", _SCHEMAS)
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            _point(inner)
