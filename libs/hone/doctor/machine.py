"""Every check of this machine, in the order in which `hone doctor` prints them."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from hone.doctor import hardware, packages, servers, services, system
from hone.doctor.deployment import Deployment, find
from hone.doctor.findings import Finding, error
from hone.spec.problems import Invalid, Problem

Check = Callable[[Deployment], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (
    packages.python, packages.packages, packages.members, hardware.processors, hardware.memory, hardware.shared_memory,
    hardware.gpus, hardware.disks, system.open_files, system.clock, system.addresses, servers.postgres, servers.broker,
    servers.object_store, services.processes, services.health)


def look(
    state: Path, environment: Mapping[str, str] = os.environ, checks: Iterable[Check] = CHECKS,
) -> Iterator[Finding]:
    """Yield the findings about this machine and the stack in `state`, each as soon as it is there."""
    deployment, wrong = _deployment(state, dict(environment))
    for problem in wrong:
        yield error("settings", f"{problem.field}: {problem.found}", f"expected {problem.expected}")
    for check in checks:
        yield from _findings(check, deployment)


def _deployment(state: Path, environment: dict[str, str]) -> tuple[Deployment, list[Problem]]:
    """Return the deployment without the settings that are wrong, and what is wrong with them."""
    wrong: list[Problem] = []
    while True:
        try:
            return find(state, environment), wrong
        except Invalid as refused:
            wrong += refused.problems
            named = {problem.field for problem in refused.problems} & environment.keys()
            for name in named or {name for name in environment if name.startswith("HONE_")}:
                del environment[name]


def _findings(check: Check, deployment: Deployment) -> Iterator[Finding]:
    """Yield what a check finds. A check that fails itself is a finding too, and the next one goes on."""
    try:
        yield from check(deployment)
    except Exception as failed:  # each looks at another part of a machine that may be broken in any way
        yield error(check.__name__.replace("_", " "), f"cannot be checked: {type(failed).__name__}: {failed}",
                    "mend that, and run hone doctor again")
