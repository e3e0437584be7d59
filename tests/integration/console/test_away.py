"""Without a gateway every page shows an error and keeps its content."""

import os
import signal

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
    signed_in.look(390)
    for name, path, _ in pages(world):
        signed_in.open(path, "The gateway does not answer")
        check(signed_in, name)
    kept_picture(signed_in, "away")
    signed_in.forget()
    signed_in.open("/sign-in", "Sign in")
    signed_in.find("input[type=password]").send_keys(tenant)
    signed_in.button("Sign in").click()
    signed_in.wait_for("The gateway does not answer")
    kept_picture(signed_in, "away-sign-in")
