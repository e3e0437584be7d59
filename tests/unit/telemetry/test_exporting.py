"""A process sends its last spans, and a collector that is away delays no end."""

import os
import socket
import subprocess
import sys
import time

import pytest

from tests.servers import collector

WORK = """
import sys
from hone.telemetry import tracing
tracing.configure(sys.argv[1], "reward", "reward-0")
for number in range(5000):
    with tracing.span("work", root=True, number=number):
        pass
print("done", flush=True)
"""
SUPERVISOR_WAITS_S = 5.0


def run(url: str) -> float:
    """Let a process make a span and end; return how long its end took."""
    process = subprocess.Popen([sys.executable, "-c", WORK, url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert process.stdout is not None
    assert process.stdout.readline() == b"done\n"
    ended = time.monotonic()
    with process:
        assert process.wait(60) == 0
    return time.monotonic() - ended


def test_a_process_that_ends_sends_its_last_spans() -> None:
    with collector.running() as found:
        run(f"{found.url}/")
        spans = found.everything()
    assert {span.attributes["number"] for span in spans} == set(range(5000))
    assert {(span.service, span.name) for span in spans} == {("reward", "work")}


@pytest.mark.parametrize("listens", [False, True], ids=["refuses", "is silent"])
def test_a_collector_that_is_away_delays_no_end(listens: bool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if listens:
            taken.listen()
        assert run(f"http://127.0.0.1:{taken.getsockname()[1]}") < SUPERVISOR_WAITS_S - 0.5
