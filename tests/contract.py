"""Holds every response that a test gets from a gateway against the OpenAPI document: its status, its type, its body.

`watch` is in force for whole sessions of integration and acceptance tests, so each of their requests is a test of the
document too. Streams, and what goes through other clients than httpx's, are not looked at.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx
import jsonschema_rs
import pytest
from starlette.routing import compile_path

from hone.spec.settings import Settings
from services.gateway.app import create, declarations
from services.gateway.declarations import OPEN_PATHS
from services.gateway.middleware.errors import MEDIA_TYPE

_NOTHING: Any = None
_HEADERS = {401: "www-authenticate", 405: "allow", 503: "retry-after"}


@contextmanager
def watch() -> Iterator[None]:
    """Look at every response of a gateway until the context ends. A request whose answer is wrong raises."""
    send = httpx.Client.send

    def watched(client: httpx.Client, request: httpx.Request, *, stream: bool = False, **more: Any) -> httpx.Response:
        response = send(client, request, stream=stream, **more)
        if not stream and isinstance(client._transport, httpx.HTTPTransport) and "x-request-id" in response.headers:
            wrong = list(problems(response))
            assert not wrong, f"{request.method} {request.url}: {response.status_code} {wrong}: {response.text[:500]}"
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.Client, "send", watched)
        yield


@pytest.fixture(scope="session", autouse=True)
def contract() -> Iterator[None]:
    """For the conftest of a folder whose tests ask a gateway: each of their requests is a test of its document too."""
    with watch():
        yield


def problems(response: httpx.Response) -> Iterator[str]:
    """Yield what the document does not say of a response, or says otherwise."""
    request, status = response.request, response.status_code
    kind = response.headers.get("content-type", "").partition(";")[0]
    if status >= 400:
        yield from _problems_of_refusal(response, kind)
    operation = _operation(request.method, request.url.path)
    if operation is None:
        hidden = request.url.path in OPEN_PATHS or status in (401, 403, 404, 405)
        yield from () if hidden else ("no operation of the document has this path",)
        return
    answer = _answer(*operation, str(status))
    if answer is None:
        yield f"the document has no {status} of it"
    elif answer or response.content:
        yield from _problems_of_body(response, kind, answer)


def _problems_of_body(response: httpx.Response, kind: str, answer: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a body. `answer` holds the validators of the types that it may have."""
    if kind not in answer:
        yield f"the type {kind!r} is none of {sorted(answer)}"
    elif answer[kind] is not None and response.request.method != "HEAD":
        for error in answer[kind].iter_errors(json.loads(response.content)):
            yield f"{'.'.join(map(str, error.instance_path))}: {error.message}"


def _problems_of_refusal(response: httpx.Response, kind: str) -> Iterator[str]:
    """Yield what is wrong with an error whatever the operation is."""
    if kind != MEDIA_TYPE:
        yield f"an error of the type {kind!r}"
        return
    if (header := _HEADERS.get(response.status_code)) and header not in response.headers:
        yield f"no header {header}"
    if response.request.method == "HEAD":
        return
    reported = json.loads(response.content)
    expected = {"status": response.status_code, "request_id": response.headers["x-request-id"]}
    found = {name: reported.get(name) for name in expected}
    if found != expected:
        yield f"{found} in place of {expected}"


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return create(Settings(), _NOTHING, _NOTHING).openapi()


def _operation(method: str, path: str) -> tuple[str, str] | None:
    """Return path and method of the operation that serves a request, as the document has them."""
    method = "GET" if method == "HEAD" else method
    for verb, pattern, declared in _patterns():
        if verb == method and pattern.match(path):
            return declared, method.lower()
    return None


@cache
def _patterns() -> list[tuple[str, Any, str]]:
    shown = OPEN_PATHS & document()["paths"].keys()
    routes = [*((one.method, one.path) for one in declarations().routes), *(("GET", path) for path in shown)]
    return [(verb, compile_path(path)[0], path.replace(":path}", "}")) for verb, path in routes]


@cache
def _answer(path: str, method: str, status: str) -> dict[str, Any] | None:
    """Return the validators of an answer by its media types; None for a type that is not JSON. None: no such answer."""
    responses = document()["paths"][path][method]["responses"]
    if status not in responses:
        return None
    found = responses[status]
    if "$ref" in found:
        found = document()["components"]["responses"][found["$ref"].rsplit("/", 1)[1]]
    return {kind: _validator(content["schema"]) if kind.endswith("json") else None
            for kind, content in found.get("content", {}).items()}


def _validator(schema: dict[str, Any]) -> Any:
    whole = {**schema, "components": document()["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
