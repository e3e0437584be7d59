"""Without a gateway every page shows an error and keeps its content."""

import os
import signal

import httpx

from tests.integration.console.conftest import kept_picture
from tests.integration.console.rows import World
from tests.integration.gateway.conftest import Gateway
from tests.servers.chromium import Browser
from tests.support.console.screens import check, pages


def test_every_page_without_its_gateway(signed_in: Browser, gateway: Gateway, world: World, tenant: str) -> None:
    signed_in.open("/runs", "sort six digits")
    os.kill(gateway.pid, signal.SIGKILL)
    signed_in.wait_for("does not answer")
    assert "sort six digits" in signed_in.text()
    kept_picture(signed_in, "away-live")
    cookies = {one["name"]: one["value"] for one in signed_in.cookies()}
    with httpx.Client(base_url=signed_in.url, cookies=cookies, timeout=60) as asking:
        for name, path, _ in pages(world):
            assert "The gateway does not answer" in asking.get(path).text, name
    signed_in.look(390)
    signed_in.open(f"/runs/{world.running.id}", "The gateway does not answer")
    check(signed_in, "away")
    kept_picture(signed_in, "away")
    signed_in.forget()
    signed_in.open("/sign-in", "Sign in")
    signed_in.find("input[type=password]").send_keys(tenant)
    signed_in.button("Sign in").click()
    signed_in.wait_for("The gateway does not answer")
    kept_picture(signed_in, "away-sign-in")
