"""Methods that nouns of the SDK have alike: each asks a route of the gateway, and reads its answer with its type."""

import json
from collections.abc import Iterator
from inspect import getmembers_static
from typing import Any

import httpx
import pytest

from hone.client import Client, every
from hone.client.errors import NotFound
from hone.client.nouns import Catalog, Deleting, Listing, Method, Reading
from services.gateway.app import declarations

METHODS: dict[str, Method[Any]] = {
    name: member for name, member in getmembers_static(Client) if isinstance(member, Method)}
PAGE = {"data": [{"name": "small", "updated_at": "2026-01-01T00:00:00Z"}], "next": "small"}


@pytest.fixture
def asked() -> list[httpx.Request]:
    return []


@pytest.fixture
def client(asked: list[httpx.Request]) -> Iterator[Client]:
    """Yield a client whose gateway answers lists with a page of secrets, and names with one secret."""
    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        content = PAGE if request.url.path == "/v1/secrets" else PAGE["data"][0]
        last = {**PAGE, "next": None} if "after" in request.url.params else content
        return httpx.Response(200, content=json.dumps(last))

    with Client("http://gateway", "tml-key", transport=httpx.MockTransport(answer)) as client:
        yield client


@pytest.mark.parametrize("name", METHODS)
def test_each_method_asks_a_route_of_the_gateway(name: str) -> None:
    method = METHODS[name]
    path = "/".join(["/v1", *method.path])
    ends = ("/{name}", "/{name:path}") if isinstance(method, Reading) else ("",)
    asked = {(method.verb, path + end) for end in ends}
    assert asked & {(one.method, one.path) for one in declarations().routes}, asked


def test_what_is_alike_is_declared_and_not_written_again() -> None:
    kinds = {"judges": Listing, "judge": Reading, "delete_judge": Deleting, "graders": Catalog}
    assert {name: type(METHODS[name]) for name in kinds} == kinds


def test_a_list_has_pages_and_a_deletion_a_name(client: Client, asked: list[httpx.Request]) -> None:
    assert client.secrets(limit=7).data[0].name == "small"
    assert [one.name for one in every(client.secrets)] == ["small", "small"]
    assert client.delete_secret("a/b").name == "small"
    assert [(one.method, one.url.raw_path.decode()) for one in asked] == [
        ("GET", "/v1/secrets?limit=7"), ("GET", "/v1/secrets?limit=50"), ("GET", "/v1/secrets?limit=50&after=small"),
        ("DELETE", "/v1/secrets/a%2Fb")]


def test_an_empty_name_is_not_asked_for(client: Client, asked: list[httpx.Request]) -> None:
    with pytest.raises(NotFound):
        client.judge("")
    assert asked == []
