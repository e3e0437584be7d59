"""`hone demo` for a new user: an empty environment, an empty home, and the usual ports of servers already in use."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hone.models import toy
from hone.stack import leftovers

HONE = str(Path(sys.executable).with_name("hone"))
USUAL_PORTS = (5432, 5672, 8470)
STEPS = 3

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(autouse=True, scope="module")
def usual_ports_taken() -> Iterator[None]:
    """Take every usual port that is free, so that using one of them fails."""
    with ExitStack() as held:
        for port in USUAL_PORTS:
            holder = held.enter_context(socket.socket())
            try:
                holder.bind(("127.0.0.1", port))
            except OSError:
                continue  # a server of this machine has it, so it cannot be ours
        yield


def start(home: Path, seed: int, command: str = HONE) -> "subprocess.Popen[str]":
    """Start the demo with nothing but a home in its environment."""
    home.mkdir(exist_ok=True)
    return subprocess.Popen(
        [command, "demo", "--seed", str(seed), "--steps", str(STEPS)], cwd=home, env={"HOME": str(home)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finished(home: Path, seed: int, command: str = HONE) -> str:
    """Run the demo to its end and return its output."""
    process = start(home, seed, command)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    return output


def summary(label: str, output: str) -> str:
    """Return the summary's value under a label."""
    found = re.search(rf"^ *{label} +(\S+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


@pytest.fixture(scope="module")
def uninterrupted(shared_directory: Path) -> str:
    """The output of a demo that ran from its start to its end, in a home of its own."""
    return finished(shared_directory / "demo-whole", 1)


def test_it_leaves_a_checkpoint_and_a_curve_and_begins_from_the_weights_of_its_seed(
    uninterrupted: str, tmp_path: Path
) -> None:
    checkpoint = Path(summary("checkpoint", uninterrupted))
    assert {"config.json", "model.safetensors"} <= {path.name for path in checkpoint.iterdir()}
    assert Path(summary("curve", uninterrupted)).read_bytes().startswith(b"\x89PNG")
    begun, own, other = (directory / "model.safetensors" for directory in (
        checkpoint.parent / "untrained", toy.write(tmp_path / "1", 1), toy.write(tmp_path / "2", 2)))
    assert begun.read_bytes() == own.read_bytes() != other.read_bytes()


def test_asked_to_end_it_leaves_nothing_behind_and_goes_on_to_the_same_weights_the_next_time(
    uninterrupted: str, shared_directory: Path
) -> None:
    home = shared_directory / "demo-ended"
    process = start(home, 1)
    assert process.stdout is not None
    printed = ""
    while "step" not in printed:
        line = process.stdout.readline()
        assert line, printed
        printed += line
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    output = process.stdout.read()
    assert (process.wait(timeout=120), "the same command goes on from here" in output) == (130, True)
    assert time.monotonic() - began < 30
    assert not leftovers.marked(home / ".hone")
    attempts = set((home / ".hone" / "demo").iterdir())
    assert summary("sha256", finished(home, 1)) == summary("sha256", uninterrupted)
    assert {path for path in (home / ".hone" / "demo").iterdir() if path.is_dir()} == {
        path for path in attempts if path.is_dir()}


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_wheel_in_an_empty_environment_runs_it(shared_directory: Path) -> None:
    """Downloads torch and all other dependencies, at the newest versions that pyproject.toml allows."""
    root, dist, place = Path(__file__).parents[2], shared_directory / "dist", shared_directory / "environment"
    subprocess.run([root / "scripts" / "wheel.sh", sys.executable, dist], check=True, timeout=300)
    (wheel,) = dist.iterdir()
    subprocess.run([sys.executable, "-m", "venv", place], check=True, timeout=300)
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[train]"], check=True,
                   timeout=1200)
    output = finished(shared_directory / "demo-wheel", 1, str(place / "bin" / "hone"))
    assert (Path(summary("checkpoint", output)) / "model.safetensors").exists()
