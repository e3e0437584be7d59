"""The processes of a stack: their kinds, commands and addresses."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hone.stack import interpreters
from hone.stack.record import Record


class Kind(NamedTuple):
    """A kind of process."""

    module: str
    listens: str | None  # its field in hone.spec.settings.Addresses, None if it does not listen
    several: bool  # whether a stack may have several
    only_with: str | None = None  # the variable without which a stack has none
    usual: Mapping[str, str] = {}  # variables that it gets unless the environment has them
    needed: bool = True  # whether a stack waits for it even if it ends at its start
    forked: bool = False  # whether it runs in a fork of the supervisor, see hone.stack.forks


METRICS = "HONE_METRICS_ADDRESS"

HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Asks the system for large pages, if it gives them on request: a trainer's passes go through tens of megabytes.

The C library reads the variable before any of our code runs."""

ONE_ORDER = {"PYTHONHASHSEED": "0"}
"""One order of sets of text, on which tasks of some generators depend. Python reads it as it starts."""

KINDS = {
    "inference": Kind("services.inference", "inference", True),
    "sandbox": Kind("services.sandbox", "sandbox", False, needed=False),
    "reward": Kind("services.reward", "reward", False, forked=True),
    "value": Kind("services.value", "value", False, forked=True),
    "simulation": Kind("services.simulation", "simulation", False, usual=ONE_ORDER),
    "rollout": Kind("services.rollout", None, True, forked=True),
    "trainer": Kind("services.learner.trainer", None, True, usual=HUGE_PAGES),
    "driver": Kind("services.learner.driver", "learner", True, forked=True),
    "sinks": Kind("services.sinks", None, False, "HONE_SINKS"),
    "gateway": Kind("services.gateway", "gateway", False, forked=True),
    "door": Kind("services.door", "door", False),
    "console": Kind("services.console", "console", False, forked=True),
}
"""Every kind of service, in the order in which they are started."""

_FORKED = {kind.module for kind in KINDS.values() if kind.forked}


@dataclass(frozen=True)
class Process:
    """One process of a stack."""

    name: str  # such as trainer-0
    command: tuple[str, ...]
    environment: Mapping[str, str]  # its own variables, besides those of the stack
    address: str | None = None  # host:port, None if it does not listen
    needed: bool = True  # as of its kind


def services(
    counts: Mapping[str, int], commands: Mapping[str, list[str]], record: Record, environment: Mapping[str, str],
) -> list[Process]:
    """Return the services: `counts[kind]` of each kind, by default one, with `commands[kind]` instead of their own.

    An address in `environment` (HONE_GATEWAY_ADDRESS) is for the first process of a kind; the others get free ports.
    With HONE_METRICS_ADDRESS each process serves its metrics on that host, at a free port of its own.
    Raises ValueError for an unknown kind or an impossible number of processes, and Invalid if HONE_ENGINE needs an
    environment that does not exist.
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
    return Process(name, tuple(run), own, address, KINDS[kind].needed)


def forked(command: Sequence[str]) -> str | None:
    """Return the module of a command that runs a service as `python -m` does, if it may run in a fork."""
    python, option, module = command if len(command) == 3 else ("", "", "")
    return module if (python, option) == (sys.executable, "-m") and module in _FORKED else None


def addresses(processes: list[Process]) -> dict[str, str]:
    """Return the variables by which processes find each other: the address of the first process of each kind."""
    first = (process for process in processes if process.address is not None and process.name.endswith("-0"))
    return {key: value for process in first for key, value in process.environment.items()
            if key.endswith("_ADDRESS") and key != METRICS}
