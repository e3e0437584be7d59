"""A real console in a real browser, with a real gateway.

Console and browser are started once a session, and what the tenants have is written once. Each module has a copy of it
and a gateway of its own, always at the same address.

world      what the first tenant has (tests.integration.console.rows.World); the second tenant has nothing
console    URL of the console
browser    Chromium, not signed in, 1280 px wide, light
signed_in  the same, signed in as the first tenant; the tests of a module share a session
signed_in_anew  the same with a session of its own, on the list of runs: for tests that end or change their session
"""

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from hone import keys
from hone.client import Client
from hone.environments.packages.archive import packed
from hone.models import toy
from hone.stack import ports
from hone.store.database import Database
from tests.contract import contract  # noqa: F401  # for every test of this folder
from tests.integration.console import rows
from tests.integration.console.rows import World
from tests.integration.gateway.conftest import (  # noqa: F401
    Gateway,
    database,
    gateway_settings,
    hone,
    other,
    sandbox,
    sandbox_address,
    serve,
)
from tests.servers import chromium
from tests.servers.children import Children
from tests.servers.chromium import Browser
from tests.servers.postgres import Server, TestDatabase
from tests.servers.service import running
from tests.unit.environments.packages.shop import shop


@pytest.fixture(scope="session")
def gateway_port() -> int:
    return ports.pick(1)[0]


@pytest.fixture(scope="session")
def reward_address() -> str:
    """Where gateways of modules look for a reward service; tests with the fixture `reward` have one."""
    return f"127.0.0.1:{ports.pick(1)[0]}"


@pytest.fixture(scope="session")
def simulation_address() -> str:
    """Where gateways of modules look for a simulation service."""
    return f"127.0.0.1:{ports.pick(1)[0]}"


@dataclass(frozen=True)
class Original:
    """What each module has a copy of: a database, objects, the keys of two tenants, and the rows of the first."""

    database: str
    objects: Path
    tenant: str
    other_tenant: str
    world: World


@pytest.fixture(scope="session")
def original(
    postgres_server: Server, gateway_settings: dict[str, str], sandbox_address: str,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Original:
    name, home = f"hone_{secrets.token_hex(6)}", tmp_path_factory.mktemp("original")
    made, objects = postgres_server.database(name), home / "objects"
    with closing(Database(made.owner_url, size=1)) as owner:
        first, second = (keys.create(owner, *named).secret for named in (("first key",), ("second key", "others")))
    with (running("sandbox", HONE_SANDBOX_ADDRESS=sandbox_address, HONE_SANDBOX_PLACES="2"),
          Children(home) as children):
        served = serve(children, made, objects.as_uri(), gateway_settings)
        with served.client(first) as client:
            return Original(name, objects, first, second, write_world(client, served, made, home))


def write_world(hone: Client, gateway: Gateway, postgres: TestDatabase, home: Path) -> World:  # noqa: F811
    """Write what the first tenant has."""
    directory = toy.write(home / "toy", hidden=16, layers=1, heads=2, head_dim=8, ffn=32, vocab_size=128,
                          symbols=toy.TEXT)
    (archive := home / "shop.zip").write_bytes(packed(shop().files))
    hone.add_package("shop", archive)
    hone.put_judge("writer", "http://127.0.0.1:9/v1", "some-model")
    hone.make_package("harbour", "a harbour with cranes", author={"endpoint": "writer"})
    return rows.write(postgres.owner_url, gateway.objects, hone, hone.register_model("toy-text", directory).name)


@pytest.fixture(scope="module")
def postgres(postgres_server: Server, original: Original) -> TestDatabase:
    return postgres_server.database(f"hone_{secrets.token_hex(6)}", original.database)


@pytest.fixture(scope="session")
def tenant(original: Original) -> str:
    return original.tenant


@pytest.fixture(scope="session")
def other_tenant(original: Original) -> str:
    return original.other_tenant


@pytest.fixture(scope="session")
def world(original: Original) -> World:
    return original.world


@pytest.fixture(scope="module")
def objects_url(original: Original, tmp_path_factory: pytest.TempPathFactory) -> str:
    return shutil.copytree(original.objects, tmp_path_factory.mktemp("module") / "objects").as_uri()


@pytest.fixture(scope="module")
def gateway(
    postgres: TestDatabase, gateway_port: int, reward_address: str, simulation_address: str, objects_url: str,
    tmp_path_factory: pytest.TempPathFactory, gateway_settings: dict[str, str],  # noqa: F811
) -> Iterator[Gateway]:
    with Children(tmp_path_factory.mktemp("gateway")) as children:
        settings = {**gateway_settings, "HONE_REWARD_ADDRESS": reward_address,
                    "HONE_SIMULATION_ADDRESS": simulation_address}
        yield serve(children, postgres, objects_url, settings, gateway_port)


@pytest.fixture
def reward(
    postgres: TestDatabase, gateway_port: int, reward_address: str, objects_url: str, tmp_path: Path,
    gateway: Gateway,  # noqa: ARG001
) -> Iterator[None]:
    settings = {"HONE_REWARD_ADDRESS": reward_address, "HONE_GATEWAY_ADDRESS": f"127.0.0.1:{gateway_port}",
                "HONE_DATABASE_URL": postgres.worker_url, "HONE_OBJECTS_URL": objects_url}
    with Children(tmp_path) as children:
        children.start("reward", [sys.executable, "-m", "services.reward"], env={**os.environ, **settings})
        children.wait("reward", lambda: ports.answers(reward_address), timeout_s=60)
        yield


@pytest.fixture(scope="session")
def console(gateway_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("console")
    [port] = ports.pick(1)
    addresses = {"CONSOLE": f"127.0.0.1:{port}", "GATEWAY": f"127.0.0.1:{gateway_port}"}
    settings = {f"HONE_{name}_ADDRESS": address for name, address in addresses.items()}
    with Children(home) as children:
        children.start("console", [sys.executable, "-m", "services.console"], env={**os.environ, **settings})
        children.wait("console", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        yield f"http://127.0.0.1:{port}"
        written = children.log("console").read_text()
    assert "Traceback" not in written, written[-4000:]


@pytest.fixture(scope="session")
def chromium_browser(
    console: str, tmp_path_factory: pytest.TempPathFactory, need: Callable[[str | None], None],
) -> Iterator[Browser]:
    need(chromium.absent())
    with chromium.running(tmp_path_factory.mktemp("chromium"), console) as browser:
        yield browser


@pytest.fixture
def browser(chromium_browser: Browser, gateway: Gateway) -> Browser:  # noqa: ARG001
    chromium_browser.look()
    chromium_browser.forget()
    chromium_browser.open("/sign-in", "Sign in")
    chromium_browser.complaints()
    return chromium_browser


@pytest.fixture
def signed_in_anew(browser: Browser, tenant: str, world: World) -> Browser:  # noqa: ARG001
    sign_in(browser, tenant)
    return browser


@pytest.fixture(scope="module")
def session(
    chromium_browser: Browser, gateway: Gateway, tenant: str, world: World,  # noqa: ARG001
) -> list[dict[str, Any]]:
    """The cookies of a browser that the first tenant has signed in."""
    chromium_browser.forget()
    chromium_browser.open("/sign-in", "Sign in")
    sign_in(chromium_browser, tenant)
    return chromium_browser.cookies()


@pytest.fixture
def signed_in(chromium_browser: Browser, session: list[dict[str, Any]]) -> Browser:
    chromium_browser.leave()
    chromium_browser.look()
    chromium_browser.forget()
    chromium_browser.remember(session)
    return chromium_browser


def sign_in(browser: Browser, key: str, expected: str = "Runs") -> None:
    """Enter a key in the sign-in page, which is open, and wait for a text of the list of runs."""
    browser.find("input[type=password]").send_keys(key)
    browser.button("Sign in").click()
    browser.wait(lambda: browser.path() == "/runs")
    browser.wait_for(expected)


def write(browser: Browser, text: str) -> None:
    """Replace the text of the editor, which is open, by what a person types."""
    editor = browser.find(".cm-content")
    editor.send_keys(Keys.CONTROL + "a")
    editor.send_keys(Keys.BACKSPACE)
    editor.send_keys(text)


def choose(browser: Browser, label: str, option: str) -> None:
    """Choose an option of a select in which one can search."""
    field = browser.find(f"input[aria-label='{label}']")
    field.click()
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys(option)

    _click_offered(browser, label, option)
    browser.wait(lambda: browser.find(f"input[aria-label='{label}']").get_attribute("value") == option)


def _click_offered(browser: Browser, label: str, option: str) -> None:
    """Click an option of the open menu, which is drawn anew while one types."""
    def clicked() -> bool:
        offered = [one for one in browser.all(".q-menu .q-item") if one.text == option]
        if offered:
            offered[0].click()
        return bool(offered)

    browser.wait(clicked, lambda: f"{label} does not offer {option}")


def pick(browser: Browser, label: str, option: str) -> None:
    """Pick an option of a select in which one cannot search."""
    browser.find(f"input[aria-label='{label}']").click()

    _click_offered(browser, label, option)
    browser.wait(lambda: not browser.all(".q-menu"))


def kept_picture(browser: Browser, name: str) -> None:
    """Write a screenshot into the directory that HONE_TEST_SCREENSHOTS names, if it does."""
    directory = os.environ.get("HONE_TEST_SCREENSHOTS")
    if directory:
        browser.picture(Path(directory) / f"{name}.png")
