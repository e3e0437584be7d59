"""/docs: the OpenAPI document as one page without scripts and without files from other servers."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment, StrictUndefined, Template
from starlette.responses import HTMLResponse, RedirectResponse, Response

from services.gateway.declarations import SCOPE

router = APIRouter(include_in_schema=False)

_METHODS = ("get", "post", "patch", "put", "delete")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(files("services.gateway.routes").joinpath("documentation.html").read_text())


@router.get("/")
async def home() -> RedirectResponse:
    """Redirect to the documentation."""
    return RedirectResponse("/docs")


@router.get("/docs")
async def page(request: Request) -> HTMLResponse:
    """Render every operation with its parameters, body and examples."""
    schema = request.app.openapi()
    return HTMLResponse(_template().render(info=schema["info"], sections=sections(schema), host=request.url.netloc))


@router.get("/favicon.ico")
async def favicon() -> Response:
    """Return the icon of the page."""
    icon = files("services.gateway.routes").joinpath("favicon.svg").read_bytes()
    return Response(icon, media_type="image/svg+xml", headers={"Cache-Control": "max-age=86400"})


def sections(schema: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the operations of an OpenAPI document by their first tag, in the order of the document."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema["paths"].items():
        for method in _METHODS:
            if method in methods:
                operation = methods[method]
                grouped.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    return grouped


def _operation(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": method.upper(), "path": path, "anchor": f"{method}{path}".replace("/", "-"),
        "text": operation.get("description", operation["summary"]), "scope": operation.get(SCOPE, ""),
        "parameters": [_parameter(parameter) for parameter in operation.get("parameters", [])],
        "bodies": [body for kind, content in operation.get("requestBody", {}).get("content", {}).items()
                   for body in _bodies(kind, content)],
    }


def _parameter(parameter: dict[str, Any]) -> dict[str, str]:
    schema = parameter.get("schema", {})
    kinds = [schema.get("type", ""), *(one.get("type", "") for one in schema.get("anyOf", []))]
    return {"name": parameter["name"], "place": parameter["in"],
            "required": "required" if parameter["required"] else "",
            "kind": ", ".join(kind for kind in kinds if kind and kind != "null"),
            "text": parameter.get("description", schema.get("description", ""))}


def _bodies(kind: str, content: dict[str, Any]) -> list[dict[str, str]]:
    named = [(one["summary"], one["value"]) for one in content.get("examples", {}).values()]
    if "example" in content:
        named.append(("Example", content["example"]))
    shown = [{"kind": kind, "title": title, "text": json.dumps(value, indent=2, ensure_ascii=False)}
             for title, value in named]
    fields = ", ".join(content.get("schema", {}).get("properties", {}))
    return shown or [{"kind": kind, "title": "Fields", "text": fields}]
