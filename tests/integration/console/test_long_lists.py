"""Lists longer than a page: their totals count all items, and every item can be reached."""

from functools import partial

import pytest
from psycopg import Connection

from tests.integration.console.conftest import kept_picture
from tests.integration.console.rows import World
from tests.servers.chromium import Browser
from tests.servers.postgres import TestDatabase

MANY = 120


@pytest.fixture(scope="module")
def many(world: World, postgres: TestDatabase) -> World:
    """The oldest run, model, dataset and version."""
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute(
            "INSERT INTO runs (id, tenant_id, name, spec, spec_sha, state, policy_model_id, deadline)"
            " SELECT 'run_0' || lpad(n::text, 6, '0'), tenant_id, 'old ' || n, spec, spec_sha, 'cancelled',"
            " policy_model_id, deadline FROM runs, generate_series(1, %s) n WHERE id = %s", [MANY, world.fresh.id])
        connection.execute(
            "INSERT INTO artifacts (id, tenant_id, kind, name, hash, manifest, report)"
            " SELECT 'art_0' || left(kind, 1) || lpad(n::text, 6, '0'), tenant_id, kind, 'old-' || n, hash || n,"
            " manifest, report FROM artifacts, generate_series(1, 220) n WHERE name IN ('toy-text', 'sums')")
        connection.execute(
            "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest)"
            " SELECT 'ver_old' || n, tenant_id, id, n, n, '{}' FROM models, generate_series(0, 130) n WHERE id = %s",
            [world.fresh.model_id])
    return world


def figure(browser: Browser, label: str) -> str:
    """Return the value of a figure on the page."""
    found = {one.text.splitlines()[0]: one.text.splitlines()[1] for one in browser.all(".figure")}
    return found[label]


def choose(browser: Browser, state: str) -> None:
    browser.find(".q-select").click()
    browser.wait(lambda: [one for one in browser.all(".q-item") if one.text == state])
    next(one for one in browser.all(".q-item") if one.text == state).click()


@pytest.mark.usefixtures("many")
def test_figures_count_every_run_whatever_is_shown(signed_in: Browser) -> None:
    signed_in.open("/runs", "sort six digits")
    before = {label: figure(signed_in, label) for label in ("Running", "Failed", "Cancelled")}
    assert before == {"Running": "1", "Failed": "1", "Cancelled": str(MANY)}
    choose(signed_in, "failed")
    signed_in.wait(lambda: "waiting for a trainer" not in signed_in.text())
    assert {label: figure(signed_in, label) for label in before} == before


@pytest.mark.usefixtures("many")
def test_a_search_finds_the_oldest_run(signed_in: Browser) -> None:
    signed_in.open("/runs", "sort six digits")
    signed_in.find("input[aria-label='Search by name, id or base']").send_keys("run_0000001")
    signed_in.wait(lambda: [one.text for one in signed_in.all("tbody a.strong")] == ["old 1"])


@pytest.mark.usefixtures("many")
def test_the_oldest_run_is_reached_page_by_page(signed_in: Browser) -> None:
    signed_in.open("/runs", "sort six digits")
    shown = 50
    while more := signed_in.buttons("Show older runs"):
        more[0].click()
        shown = min(shown + 50, MANY + 6)
        signed_in.wait(partial(_shows, signed_in, shown))
    assert shown == MANY + 6
    assert signed_in.all("a[href='/runs/run_0000001']")


@pytest.mark.parametrize("path", ["/models", "/datasets"])
def test_a_cut_list_leads_to_its_end_and_back(signed_in: Browser, many: World, path: str) -> None:  # noqa: ARG001
    signed_in.open(path, "older →")
    assert not signed_in.all(f"a[href='{path}/old-1']")
    signed_in.find(f"a[href^='{path}?after=']").click()
    signed_in.wait(lambda: signed_in.all(f"a[href='{path}/old-1']"))
    signed_in.find(f"a[href='{path}']:not(nav nav a)")
    signed_in.wait_for("← newest")


def test_a_cut_list_of_versions_leads_to_its_end(signed_in: Browser, many: World) -> None:
    place = f"/runs/{many.fresh.id}/versions"
    signed_in.open(place, "older →")
    assert "ver_old1\n" not in signed_in.text()
    kept_picture(signed_in, "versions-long-1280")
    signed_in.find(f"a[href^='{place}?after=']").click()
    signed_in.wait(lambda: "ver_old0" in signed_in.text())
    signed_in.button("Export the newest version")


def _shows(browser: Browser, count: int) -> bool:
    return browser.count("tbody tr") == count
