"""Makes the README's pictures, `python -m scripts.pictures`: runs the demo and photographs its run in the console."""

import shutil
import tempfile
from pathlib import Path

from rich.console import Console

from hone.client import Client
from hone.demo.story import READY_S, Demo
from hone.stack.embedded import Stack
from tests.integration.console.conftest import sign_in
from tests.servers import chromium

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


def main() -> None:
    """Write docs/images/learning-curve.png and docs/images/console.png."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hone-") as directory:
        home = Path(directory)
        home.chmod(0o711)  # PostgreSQL's own user passes through it
        shutil.copyfile(Demo(home / "state", 0, Console()).run().picture, IMAGES / "learning-curve.png")
        with Stack(home / "state") as stack:
            stack.wait_ready(READY_S)
            photograph(stack, home, IMAGES / "console.png")


def photograph(stack: Stack, home: Path, picture: Path) -> None:
    """Write the page of the newest run, as far as a screen of 1280 x 720 shows it."""
    record = stack.record()
    with Client(record.gateway_url, record.api_key) as client:
        run = client.runs().data[0]
    with chromium.running(home, record.console_url) as browser:
        browser.look(1280, 720)
        browser.open("/sign-in", "Sign in")
        sign_in(browser, record.api_key)
        browser.open(f"/runs/{run.id}", run.name)
        browser.wait(lambda: browser.all("canvas"))
        browser.screen(picture)


if __name__ == "__main__":
    main()
