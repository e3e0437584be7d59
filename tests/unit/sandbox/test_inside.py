"""What stands behind the walls: messages, the filter's instructions, and the judgement of a run's end."""

import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from services.sandbox import secrets, self_test
from services.sandbox.inside import filter as calls
from services.sandbox.inside import frames
from services.sandbox.inside.collecting import judge
from services.sandbox.inside.program import FAILED, FINISHED, MEMORY, REFUSED
from services.sandbox.levels import STRONG, Level, asked_for
from services.sandbox.requests import Done

HEADERS = {"x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
           "aarch64": Path("/usr/include/asm-generic/unistd.h")}
KILLED = -signal.SIGKILL


def test_a_message_comes_as_it_was_sent_and_a_late_stop_is_skipped() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.sendall(frames.STOP + frames.pack({"a": 1}, [b"", b"\x00S"]) + frames.STOP)
        one.close()
        assert frames.receive(other) == ({"a": 1}, [b"", b"\x00S"])
        assert frames.receive(other) is None


@pytest.mark.parametrize("machine", HEADERS)
def test_the_filter_has_the_kernels_numbers(machine: str, need: Callable[[str | None], None]) -> None:
    need(None if HEADERS[machine].exists() else f"{HEADERS[machine]} is not installed")
    known = dict(re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text(), re.MULTILINE))
    assert {name: int(known[name]) for name in calls.numbers(machine)} == calls.numbers(machine)


def test_an_architecture_without_numbers_has_no_filter() -> None:
    with pytest.raises(OSError, match="found riscv64, expected x86_64 or aarch64"):
        calls.numbers("riscv64")


@pytest.mark.parametrize(("limit", "end", "code", "cpu_ms", "status"), [
    (None, (FINISHED, "0"), 0, 1, "finished"), (None, (FAILED, "Traceback"), 1, 1, "error"),
    (None, (REFUSED, "no function"), 1, 1, "refused"), (None, (MEMORY, ""), 1, 1, "memory_limit"),
    (None, None, 0, 1, "ended"), (None, None, -signal.SIGSEGV, 1, "ended"), (None, None, KILLED, 1600, "time_limit"),
    (None, None, KILLED, 1000, "ended"), (None, (b"?", "it wrote"), 0, 1, "ended"),
    (("output_limit", "stdout"), (FINISHED, "0"), 0, 1, "output_limit"),
])
def test_an_end_is_judged_by_the_limit_then_by_the_answer_then_by_the_process(
    limit: tuple[str, str] | None, end: tuple[bytes, str] | None, code: int, cpu_ms: float, status: str,
) -> None:
    assert judge(limit, end, code, cpu_ms, 2.0)[0] == status


def test_a_named_level_is_that_level_alone() -> None:
    assert asked_for("strongest") == STRONG
    assert {asked_for(level) for level in Level} == {(level,) for level in Level}


def test_walls_that_leak_are_named() -> None:
    found = ('{"pid": 1, "children": 0, "variables": [], "network": %s, "processes": false, "root": false, '
             '"parent": false}')
    tight, leaking = (Done({"status": "finished", "kinds": "V"}, [b"", b"", (found % network).encode()])
                      for network in ("false", "true"))
    assert self_test.leaks(Level.NAMESPACES, tight) == []
    assert self_test.leaks(Level.NAMESPACES, leaking) == ["a program opened a socket"]
    assert self_test.leaks(Level.NONE, leaking) == []
    ended = Done({"status": "ended", "detail": "no"}, [b"", b""])
    assert self_test.leaks(Level.LIMITS, ended) == ["its test did not run: no"]


def test_secrets_are_found_by_their_names() -> None:
    environment = {"HONE_STACK_TOKEN": "a", "HONE_BROKER_URL_FILE": "b", "WANDB_API_KEY": "c", "HONE_LEASE_S": "1",
                   "PATH": "/", "HONE_DATABASE_URL": ""}
    assert secrets.held(environment) == ["HONE_BROKER_URL_FILE", "WANDB_API_KEY"]
    assert secrets.without(["PATH"], {"PATH": "/", "A": "1"}) == {"A": "1"}
