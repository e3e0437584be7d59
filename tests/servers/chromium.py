"""Headless Chromium, as Debian packages it: the text of a page, the browser's console, and requests to servers."""

import base64
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-default-apps", "--disable-extensions",
)
_WAIT_S = 60.0
_CUT_OFF = """return [...document.querySelectorAll('.scroll')].flatMap(frame =>
  [...frame.querySelectorAll('td')].filter(cell => cell.checkVisibility() &&
    cell.getBoundingClientRect().right > frame.getBoundingClientRect().right + 1).map(cell => cell.dataset.label))"""
_BUTTONS = """return [...document.querySelectorAll('button')].filter(one =>
  one.checkVisibility({opacityProperty: true, visibilityProperty: true}) && one.innerText.trim() === arguments[0])"""
_ASKED = "Network.requestWillBeSent"


def absent() -> str | None:
    """Return why no browser can be started here, or None."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not installed (make deps installs Debian's packages)" if missing else None


class Browser:
    """One browser with a profile of its own, looking at one server."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self._driver, self.url = driver, url
        self._width = 0
        self._asked: list[str] = []

    def look(self, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Set the size of the screen, and whether the system prefers light or dark."""
        self._width = width
        self._command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=width < 600)
        self._command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path: str, expected: str) -> None:
        """Go to a page and wait until it shows a text and reacts to input."""
        self._driver.get(f"{self.url}{path}")
        self.wait_for(expected)
        self.listens()

    def listens(self) -> None:
        """Wait until the page is connected to its server. Earlier input may arrive in any order."""
        self.wait(lambda: self._driver.execute_script("return window.did_handshake === true"),
                  lambda: f"{self.path()} is not connected")

    def wait_for(self, text: str) -> None:
        """Wait until the page shows a text. Raises AssertionError with the text that it shows instead."""
        self.wait(lambda: text in self.text(), lambda: f"{text!r} not in:\n{self.text()}")

    def wait(self, holds: Callable[[], Any], otherwise: Callable[[], str] = lambda: "it does not hold") -> None:
        until = time.monotonic() + _WAIT_S
        while not _tried(holds):
            assert time.monotonic() < until, otherwise()
            time.sleep(0.05)

    def text(self) -> str:
        """Return the text that the page shows. (Selenium's own way takes a tenth of a second for a page of charts.)"""
        return str(self._driver.execute_script("return document.body.innerText"))

    def source(self) -> str:
        return self._driver.page_source

    def path(self) -> str:
        return urlsplit(self._driver.current_url).path

    def find(self, selector: str) -> WebElement:
        """Return the first element of a CSS selector, once there is one."""
        self.wait(lambda: self.all(selector), lambda: f"no {selector}")
        return self.all(selector)[0]

    def reads(self, selector: str) -> str:
        """Return the text of the first element of a CSS selector, also while it is fading in."""
        return str(self._driver.execute_script("return arguments[0].innerText", self.find(selector)))

    def count(self, selector: str) -> int:
        """Return how many elements a CSS selector has."""
        return int(self._driver.execute_script("return document.querySelectorAll(arguments[0]).length", selector))

    def all(self, selector: str) -> list[WebElement]:
        return self._driver.find_elements(By.CSS_SELECTOR, selector)

    def button(self, text: str) -> WebElement:
        """Return the visible button with a text, once there is one."""
        self.wait(lambda: self.buttons(text), lambda: f"no button {text}")
        return self.buttons(text)[0]

    def buttons(self, text: str) -> list[WebElement]:
        """Return the visible buttons with a text. (Selenium's own way asks for each button of the page.)"""
        return list(self._driver.execute_script(_BUTTONS, text))

    def press_twice(self, text: str) -> None:
        """Press the button with a text twice at once, as an impatient hand does."""
        self._driver.execute_script("arguments[0].click(); arguments[0].click();", self.button(text))

    def press(self, keys: str) -> None:
        """Send keys to the element with the focus."""
        self._driver.switch_to.active_element.send_keys(keys)

    def focused(self) -> WebElement:
        return self._driver.switch_to.active_element

    def overflow(self) -> float:
        """Return by how many pixels the page is wider than the screen."""
        # A mobile layout grows with its content, so its own width cannot be used.
        return float(self._command("Page.getLayoutMetrics")["cssContentSize"]["width"] - self._width)

    def cut_off(self) -> list[str]:
        """Return the column of each cell that its table's frame hides at the right edge."""
        return list(self._driver.execute_script(_CUT_OFF))

    def top(self, selector: str) -> float:
        """Return how many pixels below the window's upper edge an element begins."""
        shown = self._command("Page.getLayoutMetrics")["cssLayoutViewport"]
        return float(self.find(selector).rect["y"] - shown["pageY"])

    def complaints(self) -> list[str]:
        """Return the errors and warnings in the browser's console since the last call."""
        return [one["message"] for one in self._driver.get_log("browser") if one["level"] in ("SEVERE", "WARNING")]

    def foreign_requests(self) -> list[str]:
        """Return the addresses of other servers that the browser has sent requests to since its start."""
        fresh = (json.loads(one["message"])["message"] for one in self._driver.get_log("performance"))
        self._asked += [one["params"]["request"]["url"] for one in fresh if one["method"] == _ASKED]
        return [url for url in self._asked if url.startswith(("http", "ws")) and not url.startswith(self.url)]

    def save_to(self, directory: Path) -> None:
        """Write downloads to a directory without asking."""
        self._command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(directory))

    def cookies(self) -> list[dict[str, Any]]:
        """Return the cookies of the server, whichever page is open."""
        return self._command("Network.getCookies", urls=[self.url])["cookies"]  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Delete every cookie."""
        self._command("Network.clearBrowserCookies")

    def remember(self, cookies: list[dict[str, Any]]) -> None:
        """Set cookies of the server, as `cookies` returned them before."""
        self._command("Network.setCookies", cookies=[
            {"url": self.url, **{field: one[field] for field in ("name", "value", "httpOnly")}} for one in cookies])

    def leave(self) -> None:
        """Go to an empty page, and drop what the last page left in the browser's console."""
        self._driver.get("about:blank")
        self.complaints()

    def picture(self, path: Path) -> None:
        """Write the whole page as a PNG."""
        size = self._command("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        found = self._command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(found["data"]))

    def screen(self, path: Path) -> None:
        """Write the part of the page that the screen shows as a PNG."""
        path.write_bytes(base64.b64decode(self._command("Page.captureScreenshot")["data"]))

    def _command(self, name: str, **params: Any) -> dict[str, Any]:
        return self._driver.execute_cdp_cmd(name, params)  # type: ignore[no-any-return]


def _tried(holds: Callable[[], Any]) -> Any:
    """Return the result of `holds`, or False if the page changed while it was read."""
    try:
        return holds()
    except (NoSuchElementException, StaleElementReferenceException):
        return False


@contextmanager
def running(home: Path, url: str) -> Iterator[Browser]:
    """Start a browser with its profile in `home`; it ends with the context."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*_FLAGS, f"--user-data-dir={home / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(driver, url)
    finally:
        driver.quit()
