"""The table of routes in docs/rest.md: a row for each route, with its scope, its queries and its fields."""

from pathlib import Path

import pytest

from checks import routes_page
from services.gateway.app import declarations


@pytest.fixture(scope="module")
def page() -> str:
    return routes_page.page()


def test_each_route_has_a_row(page: str) -> None:
    rows = [line for line in page.partition(routes_page.BEGIN)[2].splitlines() if line.count(" | ") >= 4]
    assert len(rows) - 1 == len(declarations().routes)


def test_a_row_has_scope_queries_fields_and_the_first_sentence(page: str) -> None:
    assert "| runs | `GET /v1/runs` | read | `?state`, `?like`, `?base`, `?search` | List runs, newest first. |" in page
    assert "| keys | `POST /v1/keys` | admin | `{name, scopes, expires_at}` | Make a key. |" in page
    assert "| models | `DELETE /v1/models/{name}` | run |  | Delete a registered model. |" in page
    assert "parts/{number}` | run | `?sha256`, `application/octet-stream` |" in page


def test_a_page_without_its_marks_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(routes_page, "PAGE", tmp_path / "rest.md")
    (tmp_path / "rest.md").write_text("# REST\n")
    with pytest.raises(ValueError, match=r"rest\.md to have the marks"):
        routes_page.page()
