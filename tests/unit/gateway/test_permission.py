"""Every route declares the scope that it needs: a key that lacks it is refused, a key that has it may send the example.

What each route declares stands in docs/rest.md, which `checks.routes_page` holds against the routes.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from starlette.responses import Response
from starlette.testclient import TestClient

from hone import keys
from hone.spec.settings import Settings
from services.gateway.app import create, declarations
from services.gateway.declarations import Declarations, Declared, Need, needs
from services.gateway.middleware.errors import Forbidden
from services.gateway.middleware.permission import check
from services.gateway.middleware.tenancy import TenantSession

NOTHING: Any = None
RANKS: tuple[Need, ...] = ("read", "run", "admin", "operator")
"""A key of each rank may do all that the keys before it may."""
NUMBERS = {"group_id", "index", "number"}
REACHED = 299
"""The status of a request that reached its endpoint."""
ROUTES = declarations().routes


class Keys:
    """A database with a key of each rank, whose secret is the rank, and with nothing else."""

    async def one(self, _: str, /, **params: Any) -> Mapping[str, Any]:
        rank = next((rank for rank in RANKS if keys.digest(rank) == params.get("hash")), "read")
        return {"tenant_id": "tenant_1", "id": f"key_{rank}", "name": rank, "operator": rank == "operator",
                "scopes": ["admin" if rank == "operator" else rank]}

    async def run(self, _: str, /, **params: Any) -> int:
        return len(params)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["Keys"]:
        yield self


@pytest.fixture(scope="module")
def app() -> FastAPI:
    known: Any = Keys()
    return create(Settings(), known, NOTHING)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    """Yield a client of the gateway whose endpoints do nothing, once their parameters and bodies are validated."""
    async def reached(**_: Any) -> Response:
        return Response(status_code=REACHED)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastapi.routing.run_endpoint_function", reached)
        yield TestClient(app)


def sent(app: FastAPI, declared: Declared) -> dict[str, Any]:
    """Return the example of a route's body, as the client takes it. Raises KeyError for a body without an example."""
    operation = app.openapi()["paths"][declared.path.replace(":path}", "}")][declared.method.lower()]
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        example = content["example"] if "example" in content else next(iter(content["examples"].values()))["value"]
        if kind == "application/json":
            return {"json": example}
        if kind == "multipart/form-data":
            return {"data": {"name": example["name"]} if "name" in example else {}, "files": {"file": example["file"]}}
        return {"content": example, "headers": {"Content-Type": kind}}
    return {}


def asked(client: TestClient, app: FastAPI, declared: Declared, key: str) -> Any:
    path = re.sub(r"\{(\w+)(:path)?\}", lambda found: "1" if found[1] in NUMBERS else "a", declared.path)
    query = {"sha256": "0" * 64} if path.endswith("/parts/1") else {}
    more = sent(app, declared)
    headers = {**more.pop("headers", {}), "Authorization": f"Bearer {key}"}
    return client.request(declared.method, path, headers=headers, params=query, **more)


@pytest.mark.parametrize("declared", ROUTES, ids=lambda declared: f"{declared.method} {declared.path}")
def test_keys_below_the_scope_of_a_route_are_refused_and_others_reach_it(
    client: TestClient, app: FastAPI, declared: Declared,
) -> None:
    enough = RANKS.index(declared.scope)
    for lacking in RANKS[max(0, enough - 1):enough]:
        refused = asked(client, app, declared, lacking)
        assert (refused.status_code, refused.json()["scope"]) == (403, declared.scope)
    answer = asked(client, app, declared, declared.scope)
    assert answer.status_code == REACHED, answer.text


def test_a_route_without_a_scope_or_a_noun_is_refused_when_the_application_is_made() -> None:
    router = APIRouter(prefix="/v1")
    router.add_api_route("/things", lambda: None, name="listed", openapi_extra=needs("read", "things"))
    assert [(one.method, one.path, one.scope, one.noun) for one in Declarations(router.routes).routes] == [
        ("GET", "/v1/things", "read", "things")]
    for extra in (None, {"x-hone-noun": "things"}, {"x-hone-scope": "all", "x-hone-noun": "things"},
                  {"x-hone-scope": "read"}):
        wrong = APIRouter(prefix="/v1")
        wrong.add_api_route("/things", lambda: None, name="listed", openapi_extra=extra)
        with pytest.raises(TypeError, match=r"/v1/things \(listed\) does not declare"):
            Declarations([*router.routes, *wrong.routes])


@pytest.mark.parametrize(("method", "path", "needed"), [
    ("GET", "/v1/runs/counts", "read"), ("HEAD", "/v1/runs/run_1", "read"), ("POST", "/v1/runs", "run"),
    ("GET", "/v1/models/a/b/c", "read"), ("DELETE", "/v1/keys/key_1", "admin"), ("POST", "/v1/unknown", "admin"),
])
def test_what_a_request_needs(method: str, path: str, needed: Need) -> None:
    assert declarations().need(method, path) == needed


def session(scopes: list[str], operator: bool = False) -> TenantSession:
    return TenantSession("tenant_1", "key_1", "laptop", scopes, operator, NOTHING)


def test_a_refusal_names_what_is_lacking() -> None:
    with pytest.raises(Forbidden) as refused:
        check(session(["read"]), "run")
    assert refused.value.detail == "This needs a key with the scope run; the key laptop has read."
    assert refused.value.extra == {"scope": "run"}
    check(session(["admin"]), "run")


def test_an_operator_is_an_admin_of_the_operating_tenant() -> None:
    for scopes, operator in ((["admin"], False), (["run"], True)):
        with pytest.raises(Forbidden):
            check(session(scopes, operator), "operator")
    check(session(["admin"], operator=True), "operator")
