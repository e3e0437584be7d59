"""Commands of the table of nouns: each lists or deletes what the gateway declares, and shows fields that there are."""

import json
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from hone.cli import connection, nouns
from hone.client import Client
from services.gateway.app import declarations

SECRET = {"name": "small", "updated_at": "2026-01-01T00:00:00Z"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the requests to a gateway that has two pages of secrets, and of other nouns an empty page."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.raw_path.decode()}")
        page: dict[str, Any] = {"data": [], "next": None}
        if request.url.path == "/v1/secrets":
            page = {"data": [SECRET, {**SECRET, "name": "other"}], "next": None}
        return httpx.Response(200, content=json.dumps(SECRET if request.method == "DELETE" else page))

    monkeypatch.setattr(connection, "client", lambda: Client(
        "http://gateway", "tml-key", transport=httpx.MockTransport(answer)))
    return asked


def test_each_noun_is_one_of_the_gateway() -> None:
    declared = {one.noun for one in declarations().routes}
    assert {*nouns.LISTS, *nouns.DELETIONS} <= declared


@pytest.mark.parametrize("noun", nouns.LISTS)
@pytest.mark.usefixtures("asked")
def test_each_column_is_a_field_of_what_is_listed(noun: str) -> None:
    listed = nouns.LISTS[noun]
    with connection.client() as client:
        [item] = type(listed.pages(client)()).__pydantic_generic_metadata__["args"]
    assert [one for one in listed.columns.split() if one not in item.model_fields and not hasattr(item, one)] == []


def test_a_list_and_a_deletion_print_what_the_gateway_answers(asked: list[str]) -> None:
    app = typer.Typer()
    nouns.add_list(app, "secrets")
    nouns.add_delete(app, "secrets")
    shown = CliRunner().invoke(app, ["list", "--limit", "1"])
    assert shown.exit_code == 0, shown.output
    assert ("small" in shown.output, "other" in shown.output) == (True, False)
    lines = CliRunner().invoke(app, ["list", "--json"]).output.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["small", "other"]
    gone = CliRunner().invoke(app, ["delete", "a/b"])
    assert "name           small" in gone.output
    assert asked == ["GET /v1/secrets?limit=50", "GET /v1/secrets?limit=50", "DELETE /v1/secrets/a%2Fb"]
