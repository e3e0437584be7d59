"""Pages that ask the simulation service: audiences with a real fit, a strategy that is simulated, and a played task."""

import json
import time
from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from hone.client import Client
from hone.client.audience_resources import AudienceFit
from tests.integration.console.conftest import kept_picture
from tests.integration.simulation import logs
from tests.servers.chromium import Browser
from tests.servers.postgres import TestDatabase
from tests.servers.service import running
from tests.support.console.screens import check_both


@pytest.fixture(scope="module")
def simulation(postgres: TestDatabase, objects_url: str, simulation_address: str) -> Iterator[None]:
    with running("simulation", HONE_DATABASE_URL=postgres.worker_url, HONE_OBJECTS_URL=objects_url,
                 HONE_SIMULATION_ADDRESS=simulation_address):
        yield


@pytest.fixture(scope="module")
def fit(hone: Client, simulation: None) -> AudienceFit:  # noqa: ARG001
    hone.upload_dataset("orders", "".join(f"{json.dumps(row)}\n" for row in logs.rows(40)).encode())
    made = hone.fit_audience("orders", {**logs.PARAMS, "calibration": 0.5}, logs.FORMULA)
    deadline = time.monotonic() + 90
    while not made.ended:
        assert time.monotonic() < deadline, made
        time.sleep(0.2)
        made = hone.audience_fit(made.id)
    assert made.state == "done", made.reason
    return made


def test_a_fit_shows_its_errors_and_simulates_a_strategy(signed_in: Browser, fit: AudienceFit) -> None:
    signed_in.open("/audiences", "orders")
    signed_in.wait_for("Fused, left out")
    kept_picture(signed_in, "audiences-1280")
    check_both(signed_in, "/audiences")
    signed_in.look()
    signed_in.open(f"/audiences/{fit.id}", "Simulate a strategy")
    for text in ("Calibration", "points off", "Reasoner, raw", "carry over", "25 in the logs"):
        signed_in.wait_for(text)
    discount = signed_in.find("input[aria-label=discount]")
    discount.send_keys(Keys.CONTROL + "a")
    discount.send_keys("0.6")
    signed_in.button("Simulate").click()
    signed_in.wait_for("nobody tried this")
    signed_in.wait_for("Its running mean")
    assert signed_in.count(".reaction .bar") == 3
    for width, dark in ((1280, False), (1280, True), (390, True)):
        signed_in.look(width, height=2400, dark=dark)
        kept_picture(signed_in, f"audience-{width}{'-dark' if dark else ''}")
    check_both(signed_in, "/audiences/{fit_id}")


def test_a_field_that_is_empty_is_named(signed_in: Browser, fit: AudienceFit) -> None:
    signed_in.open(f"/audiences/{fit.id}", "Simulate a strategy")
    rating = signed_in.find("input[aria-label=rating]")
    rating.send_keys(Keys.CONTROL + "a")
    rating.send_keys(Keys.BACKSPACE)
    signed_in.button("Simulate").click()
    signed_in.wait_for("merchant.rating: found nothing")


@pytest.mark.usefixtures("simulation")
def test_a_task_is_played_by_hand_and_begun_again(signed_in: Browser) -> None:
    signed_in.open("/play?environment=sqlite", "Answer a question about a SQLite database")
    params = signed_in.find("textarea[aria-label='Parameters, as JSON']")
    for given, expected in (("{", "Line 1"), ('{"rows": "x", "size": 1}', "params.size: found unknown key"),
                            ('{"rows": 12}', "Turns left")):
        params.send_keys(Keys.CONTROL + "a")
        params.send_keys(given)
        signed_in.button("Start").click()
        signed_in.wait_for(expected)
    assert "params.rows" not in signed_in.text()
    sql = signed_in.find("input[aria-label=sql]")
    sql.send_keys("SELECT 40 + 2" + Keys.ENTER)
    signed_in.wait_for('query {"sql": "SELECT 40 + 2"}')
    signed_in.wait(lambda: signed_in.count(".conversation .step") == 3)
    for width, dark in ((1280, False), (390, True)):
        signed_in.look(width, height=2000, dark=dark)
        kept_picture(signed_in, f"play-{width}{'-dark' if dark else ''}")
    check_both(signed_in, "/play")
    signed_in.look()
    signed_in.find("textarea[aria-label='Your text or action']").send_keys("no idea" + Keys.ENTER)
    signed_in.wait_for("ended: done")
    signed_in.wait_for("by the environment itself")
    signed_in.wait(lambda: _begun_again(signed_in), signed_in.text)
    assert signed_in.complaints() == []


def _begun_again(browser: Browser) -> bool:
    """Press Restart, which the page overlooks while it is at work, and return whether the conversation is gone."""
    if "ended: done" in browser.text():
        browser.button("Restart").click()
    return "ended: done" not in browser.text() and "no idea" not in browser.text()
