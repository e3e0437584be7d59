"""Paths and methods that do not exist are refused with those that do, and a HEAD is a GET without its body."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.testclient import TestClient

from services.gateway.app import declarations
from services.gateway.middleware.errors import MethodNotAllowed, NotFound
from services.gateway.middleware.methods import Methods, expect_known


@pytest.mark.parametrize(("method", "path", "allowed"), [
    ("PUT", "/v1/runs", "GET, HEAD, POST"), ("OPTIONS", "/v1/models/a/b", "DELETE, GET, HEAD"),
    ("POST", "/healthz", "GET, HEAD"), ("GET", "/v1/runs/run_1/pause", "POST"),
])
def test_a_method_that_a_path_lacks_is_refused_with_all_that_it_has(method: str, path: str, allowed: str) -> None:
    with pytest.raises(MethodNotAllowed) as refused:
        expect_known(declarations(), method, path)
    assert refused.value.headers == {"Allow": allowed}
    assert [(one.field, one.found, one.expected) for one in refused.value.problems] == [("method", method, allowed)]


@pytest.mark.parametrize(("path", "hint"), [
    ("/v1/runs/", "; did you mean /v1/runs?"), ("/v2/runs", "Unknown path /v2/runs. GET")])
def test_a_path_that_does_not_exist_is_no_redirect(path: str, hint: str) -> None:
    with pytest.raises(NotFound) as refused:
        expect_known(declarations(), "GET", path)
    assert hint in str(refused.value.detail)


def test_a_head_is_a_get_without_its_body_and_ends_a_stream() -> None:
    app, sent = FastAPI(), list[int]()

    def endless() -> Iterator[bytes]:
        while True:
            sent.append(1)
            yield b"more"

    app.add_api_route("/healthz", lambda: PlainTextResponse("alive"))
    app.add_api_route("/docs", lambda: StreamingResponse(endless()))
    app.add_middleware(Methods, declarations=declarations())
    with TestClient(app) as client:
        answer = client.head("/healthz")
        assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, "5", b"")
        assert (client.head("/docs").status_code, client.head("/docs").content) == (200, b"")
    assert len(sent) <= 4
