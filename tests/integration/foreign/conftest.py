"""A stack with a door, for clients that know nothing of our code, and Node packages for some of them.

scene   the stack (tests.acceptance.scene.Scene), with two engines
run     a run of its first tenant that has ended after STEPS steps
npm     npm(name, *packages) returns a folder with Node packages
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hone.client.resources import Run
from tests.acceptance import toy
from tests.acceptance.scene import Scene, open_scene
from tests.contract import contract  # noqa: F401  # for every test of this folder
from tests.support import taught

STEPS = 2
CACHE = Path(__file__).resolve().parents[3] / ".cache"

Npm = Callable[..., Path]


@pytest.fixture(scope="package")
def scene(shared_directory: Path) -> Iterator[Scene]:
    opened = open_scene(shared_directory / "foreign", {"sweep_s": 0.5}, {"door": 1, "inference": 2})
    yield opened
    opened.stack.stop()


@pytest.fixture(scope="package")
def run(scene: Scene) -> Run:
    scene.client.upload_model("base", taught.directory(toy.write_base, steps=2))
    return scene.finished(scene.client.create_run(toy.spec("foreign", "base", STEPS, eval=None)).id)


@pytest.fixture(scope="module")
def npm(need: Callable[[str | None], None]) -> Npm:
    """Return a function that gives a folder with packages: npm(name, *packages). Its first use installs them."""
    for program in ("node", "npm"):
        need(None if shutil.which(program) else f"{program} is not installed, so no foreign client can be run")

    def installed(folder: str, *packages: str) -> Path:
        done = CACHE / folder / "installed"
        if not done.exists() or done.read_text() != " ".join(packages):
            need(_install(CACHE / folder, packages))
            done.write_text(" ".join(packages))
        return CACHE / folder / "node_modules"

    return installed


def _install(folder: Path, packages: tuple[str, ...]) -> str | None:
    """Return the reason why the packages cannot be installed; None if they can."""
    ended = subprocess.run(
        ["npm", "install", "--loglevel", "error", "--no-audit", "--no-fund", "--fetch-retries", "1", "--fetch-timeout",
         "30000", "--prefix", str(folder), *packages],
        check=False, timeout=300, capture_output=True, text=True)
    return f"npm cannot install {' '.join(packages)}: {ended.stderr.strip()}" if ended.returncode else None
