"""What the watch over a gateway's answers finds."""

from typing import Any

import httpx
import pytest

from tests.contract import problems

ACCOUNT = {"tenant_id": "t", "tenant": "default", "operator": True, "key_id": "k", "key": "first", "scopes": ["admin"]}
KEY = {"id": "k", "name": "n", "prefix": "tml-1", "scopes": ["read"], "created_at": "2026-01-31T00:00:00Z",
       "expires_at": None, "last_used_at": None, "revoked_at": None}
REFUSAL = {"type": "urn:hone:problem:not-found", "title": "Not found", "status": 404, "detail": "…", "instance": "/",
           "request_id": "req_1", "errors": []}


def answer(method: str, path: str, status: int, body: Any = None, **headers: str) -> httpx.Response:
    kind = "application/json" if status < 400 else "application/problem+json"
    return httpx.Response(status, json=body, request=httpx.Request(method, f"http://gateway{path}"),
                          headers={"content-type": kind, "x-request-id": "req_1", **headers})


@pytest.mark.parametrize(("found", "wrong"), [
    (answer("GET", "/v1/account", 200, ACCOUNT), ""),
    (answer("HEAD", "/v1/account", 200, None), ""),
    (answer("GET", "/v1/account", 200, {**ACCOUNT, "scopes": ["all"]}), "scopes.0: "),
    (answer("GET", "/v1/account", 200, {**ACCOUNT, "tenant": None}), "tenant: "),
    (answer("GET", "/v1/account", 202, ACCOUNT), "no 202"),
    (answer("GET", "/v1/keys", 200, {"data": [KEY], "next": None}), ""),
    (answer("GET", "/v1/keys", 200, {"data": [KEY]}), '"next" is a required property'),
    (answer("GET", "/v1/keys", 200, {"data": [{**KEY, "created_at": "31.1.2026"}], "next": None}), "data.0.created_at"),
    (answer("GET", "/v1/models/a/b", 404, REFUSAL), ""),
    (answer("GET", "/v1/models/a/b", 404, {**REFUSAL, "request_id": "req_2"}), "req_2"),
    (answer("GET", "/v1/models/a/b", 404, REFUSAL, **{"content-type": "text/plain"}), "an error of the type"),
    (answer("PUT", "/v1/runs", 405, {**REFUSAL, "status": 405}), "no header allow"),
    (answer("GET", "/v1/nothing", 200, {}), "no operation"),
    (answer("GET", "/metrics", 200, None, **{"content-type": "text/html"}), "the type 'text/html'"),
])
def test_what_the_document_does_not_have_is_named(found: httpx.Response, wrong: str) -> None:
    reported = "; ".join(problems(found))
    assert wrong in reported
    assert bool(wrong) == bool(reported), reported
