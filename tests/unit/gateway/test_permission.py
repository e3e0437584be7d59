"""Every route says what it needs, and a key that lacks it is refused."""

from typing import Any

import pytest
from fastapi import FastAPI

from hone.spec.settings import Settings
from services.gateway.app import create
from services.gateway.middleware.errors import Forbidden
from services.gateway.middleware.permission import NEEDS, OPEN_PATHS, Need, check, need
from services.gateway.middleware.tenancy import TenantSession

NOTHING: Any = None


def routes(app: FastAPI) -> set[str]:
    """Return "METHOD path" of every operation in the document; what is hidden from it needs no key."""
    return {f"{method.upper()} {path}" for path, methods in app.openapi()["paths"].items() for method in methods
            if path not in OPEN_PATHS}


def test_every_route_has_a_need_and_every_need_a_route() -> None:
    declared = {route.replace(":path}", "}") for route in NEEDS}
    assert routes(create(Settings(), NOTHING, NOTHING)) == declared


@pytest.mark.parametrize(("method", "path", "needed"), [
    ("GET", "/v1/runs/counts", "read"), ("HEAD", "/v1/runs/run_1", "read"), ("POST", "/v1/runs", "run"),
    ("GET", "/v1/models/a/b/c", "read"), ("DELETE", "/v1/keys/key_1", "admin"), ("POST", "/v1/unknown", "admin"),
])
def test_what_a_request_needs(method: str, path: str, needed: Need) -> None:
    assert need(method, path) == needed


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
