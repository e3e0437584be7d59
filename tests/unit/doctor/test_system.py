"""Ports, limits and the clock."""

import resource
import socket
import time
from collections.abc import Iterator

import pytest

from hone.doctor import system
from hone.stack import ports
from tests.unit.doctor.places import deployment, only


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which another program listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_fixed_address_that_is_taken_is_an_error(taken: int) -> None:
    found = only(system.addresses(deployment(HONE_GATEWAY_ADDRESS=f"127.0.0.1:{taken}")))
    assert (found.level, str(taken) in found.found) == ("error", True)
    assert "HONE_GATEWAY_ADDRESS" in found.mend


def test_a_fixed_address_may_be_free() -> None:
    (port,) = ports.pick(1)
    found = only(system.addresses(deployment(HONE_GATEWAY_ADDRESS=f"0.0.0.0:{port}")))
    assert (found.level, found.found) == ("ok", f"0.0.0.0:{port} is free")


def test_without_fixed_addresses_ports_are_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(system.addresses(deployment())).level == "ok"
    monkeypatch.setattr(ports, "is_free", lambda _: False)
    assert only(system.addresses(deployment())).level == "error"


@pytest.mark.parametrize(("soft", "level"), [
    (resource.RLIM_INFINITY, "ok"), (65_536, "ok"), (1024, "warning"), (256, "error"),
])
def test_open_files(monkeypatch: pytest.MonkeyPatch, soft: int, level: str) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, resource.RLIM_INFINITY))
    found = only(system.open_files(deployment()))
    assert (found.level, "ulimit" in found.mend) == (level, level != "ok")


@pytest.mark.parametrize(("now", "level"), [(time.time(), "ok"), (0.0, "error")], ids=["now", "never set"])
def test_clock(monkeypatch: pytest.MonkeyPatch, now: float, level: str) -> None:
    monkeypatch.setattr(time, "time", lambda: now)
    assert only(system.clock(deployment())).level == level
