"""`hone demo` as a new user has it: an empty environment, an empty home, the servers' usual ports taken by others."""

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

from hone.stack import leftovers

HONE = str(Path(sys.executable).with_name("hone"))
USUAL_PORTS = (5432, 5672, 8470)
STEPS = 12


@pytest.fixture(autouse=True)
def usual_ports_taken() -> Iterator[None]:
    """Hold every usual port that nobody holds yet, so that using one of them fails."""
    with ExitStack() as held:
        for port in USUAL_PORTS:
            holder = held.enter_context(socket.socket())
            try:
                holder.bind(("127.0.0.1", port))
            except OSError:
                continue  # somebody's server: not ours either
        yield


def start(home: Path, seed: int) -> "subprocess.Popen[str]":
    """Start the demo with nothing but a home in its environment."""
    home.mkdir(exist_ok=True)
    return subprocess.Popen(
        [HONE, "demo", "--seed", str(seed), "--steps", str(STEPS)], cwd=home, env={"HOME": str(home)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finished(home: Path, seed: int) -> str:
    """Run the demo to its end and return what it printed."""
    process = start(home, seed)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    return output


def told(label: str, output: str) -> str:
    """Return what the summary says under a label."""
    found = re.search(rf"^ *{label} +(\S+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


def test_a_seed_gives_its_weights_in_any_state_and_another_seed_gives_others(shared_directory: Path) -> None:
    first, again, other = (finished(shared_directory / name, seed) for name, seed in
                           (("demo-a", 1), ("demo-b", 1), ("demo-c", 2)))
    assert told("sha256", first) == told("sha256", again) != told("sha256", other)
    assert {"config.json", "model.safetensors"} <= {path.name for path in Path(told("checkpoint", first)).iterdir()}
    assert Path(told("curve", first)).read_bytes().startswith(b"\x89PNG")


def test_asked_to_end_it_leaves_nothing_behind_and_goes_on_the_next_time(shared_directory: Path) -> None:
    home = shared_directory / "demo-ended"
    process = start(home, 1)
    assert process.stdout is not None
    while "step" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    output = process.stdout.read()
    assert (process.wait(timeout=30), "the same command goes on from here" in output) == (130, True)
    assert time.monotonic() - began < 30
    assert not leftovers.marked(home / ".hone")
    attempts = set((home / ".hone" / "demo").iterdir())
    assert told("sha256", finished(home, 1))
    assert {path for path in (home / ".hone" / "demo").iterdir() if path.is_dir()} == {
        path for path in attempts if path.is_dir()}
