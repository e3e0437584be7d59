"""The page Playground: two models answer the same message, with an engine behind the gateway."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hone.client import Client
from tests.integration.console.conftest import sign_in
from tests.integration.gateway import asked
from tests.integration.gateway.conftest import Gateway
from tests.servers.chromium import Browser
from tests.servers.postgres import TestDatabase


@pytest.fixture(scope="module")
def gateway(postgres: TestDatabase, gateway_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with asked.running(postgres, tmp_path_factory.mktemp("asked"), gateway_port=gateway_port) as stack:
        yield stack.gateway


def test_two_models_answer_side_by_side_in_colour(
    browser: Browser, tenant: str, hone: Client, tmp_path: Path
) -> None:
    hone.register_model("talker", asked.write_model(tmp_path / "toy"))
    sign_in(browser, tenant)
    browser.open("/playground?model=talker&model=talker@nowhere", "Model A")
    browser.button("Ask").click()
    assert "No answer yet" in browser.text(), "without a message nothing is asked"
    browser.find("textarea[aria-label='Message']").send_keys("How are you?")
    browser.find("input[aria-label='Seed']").send_keys("7")
    browser.button("Ask").click()
    browser.wait_for("does not exist or is not yours")
    browser.wait(lambda: "answering" not in browser.text() and "tokens, " in browser.text())
    first, second = browser.all(".specimen")
    said = first.find_elements("css selector", ".tokens span")
    [counted] = re.findall(r"(\d+) tokens, ", browser.text())
    assert 0 < len(said) <= int(counted), "with this seed the model draws more than an end"
    assert any("rgba" in str(one.get_attribute("style")) for one in said)
    assert "log-prob -" in str(said[0].get_attribute("title"))
    assert not second.find_elements("css selector", ".tokens span")
    for width, dark in ((1280, False), (390, True)):
        browser.look(width, dark=dark)
        assert browser.overflow() == 0
    assert not browser.complaints()
