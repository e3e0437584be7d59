"""The processes of a stack: which kinds there are, how each is started, where each listens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hone.stack import interpreters
from hone.stack.record import Record


class Kind(NamedTuple):
    """A kind of process: its module, its name in Addresses if it listens, whether several make sense, the variable
    without which there is none, and what its environment holds where nobody says otherwise."""

    module: str
    listens: str | None
    several: bool
    only_with: str | None = None
    usual: Mapping[str, str] = {}


METRICS = "HONE_METRICS_ADDRESS"

HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Asks the system for large pages, where it gives them to who asks: a trainer's passes go through tens of megabytes.

The C library reads it before any of our code runs."""

KINDS = {
    "inference": Kind("services.inference", "inference", True),
    "reward": Kind("services.reward", "reward", False),
    "value": Kind("services.value", "value", False),
    "simulation": Kind("services.simulation", "simulation", False),
    "rollout": Kind("services.rollout", None, True),
    "trainer": Kind("services.learner.trainer", None, True, usual=HUGE_PAGES),
    "driver": Kind("services.learner.driver", "learner", True),
    "sinks": Kind("services.sinks", None, False, "HONE_SINKS"),
    "gateway": Kind("services.gateway", "gateway", False),
    "console": Kind("services.console", "console", False),
}
"""Every kind of service, in the order in which they are started."""


@dataclass(frozen=True)
class Process:
    """One process: `name` is its slot (trainer-0), `environment` what it has besides the stack's, `address` where it
    listens, None if nowhere."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    address: str | None = None


def services(
    counts: Mapping[str, int], commands: Mapping[str, list[str]], record: Record, environment: Mapping[str, str],
) -> list[Process]:
    """Return the services, `counts[kind]` of each (usually one), `commands[kind]` instead of their own.

    An address in `environment` (HONE_GATEWAY_ADDRESS) is that of a kind's first process; the others get free ports.
    With HONE_METRICS_ADDRESS there each process tells its metrics on that host, at a free port of its own.
    Raises ValueError for a kind that does not exist or cannot be there several times, Invalid where HONE_ENGINE asks
    for an environment that is not there.
    """
    _check(counts, commands)
    return [
        _process(kind, number, commands.get(kind), record, environment)
        for kind in KINDS for number in range(counts.get(kind, _usual(kind, environment)))
    ]


def _usual(kind: str, environment: Mapping[str, str]) -> int:
    variable = KINDS[kind].only_with
    return 1 if variable is None or environment.get(variable) else 0


def _check(counts: Mapping[str, int], commands: Mapping[str, list[str]]) -> None:
    for kind in (*counts, *commands):
        if kind not in KINDS:
            raise ValueError(f"kind of process: found {kind!r}, expected one of {', '.join(KINDS)}")
    for kind, count in counts.items():
        if count < 0 or (count > 1 and not KINDS[kind].several):
            expected = "0 or more" if KINDS[kind].several else "0 or 1"
            raise ValueError(f"number of {kind} processes: found {count}, expected {expected}")


def _process(
    kind: str, number: int, command: list[str] | None, record: Record, environment: Mapping[str, str],
) -> Process:
    name, listens = f"{kind}-{number}", KINDS[kind].listens
    usual = {key: value for key, value in KINDS[kind].usual.items() if key not in environment}
    own = {**usual, "HONE_PROCESS_NAME": name}
    address = None
    if listens is not None:
        variable = f"HONE_{listens.upper()}_ADDRESS"
        given = environment.get(variable) if number == 0 else None
        address = given or f"127.0.0.1:{record.port(name)}"
        own[variable] = address
    if host := environment.get(METRICS, "").rpartition(":")[0]:
        own[METRICS] = f"{host}:{record.port(f'{name} metrics')}"
    run = command or [interpreters.python(kind, environment), "-m", KINDS[kind].module]
    return Process(name, tuple(run), own, address)


def addresses(processes: list[Process]) -> dict[str, str]:
    """Return the settings by which processes find each other: the address of each kind's first one."""
    first = (process for process in processes if process.address is not None and process.name.endswith("-0"))
    return {key: value for process in first for key, value in process.environment.items()
            if key.endswith("_ADDRESS") and key != METRICS}
