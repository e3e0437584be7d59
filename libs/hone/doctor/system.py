"""The operating system: ports, limits of this user, the clock."""

import resource
import time
from collections.abc import Iterator
from pathlib import Path

from hone.doctor.deployment import Deployment
from hone.doctor.findings import Finding, error, ok, warning
from hone.stack import ports
from hone.stack.processes import KINDS
from hone.stack.record import reachable

_FILES, _FEW_FILES = 1024, 4096
_DAY_S = 86_400.0


def addresses(deployment: Deployment) -> Iterator[Finding]:
    """Look whether each address that a setting fixes is free, or held by the stack that runs; others are picked."""
    held = {reachable(address) for address in deployment.record.addresses.values()} if deployment.record else set[str]()
    fixed = _fixed(deployment)
    for name, address in fixed.items():
        port = address.rpartition(":")[2]
        if deployment.running and reachable(address) in held:
            yield ok("ports", f"{address} is held by the stack in {deployment.state}")
        elif ports.is_free(int(port)):
            yield ok("ports", f"{address} is free")
        else:
            yield error("ports", f"{address} is taken by another program",
                        f"end it (ss -ltnp 'sport = :{port}' names it), or set {name} to another port")
    if not fixed:
        yield _picked(deployment)


def _fixed(deployment: Deployment) -> dict[str, str]:
    names = {f"HONE_{kind.listens.upper()}_ADDRESS" for kind in KINDS.values() if kind.listens}
    return {name: address for name, address in deployment.environment.items() if name in names and address}


def _picked(deployment: Deployment) -> Finding:
    if deployment.running:
        return ok("ports", f"{len(deployment.record.addresses) if deployment.record else 0} held by the stack")
    try:
        ports.pick(2 * len(KINDS))
    except OSError as few:
        return error("ports", str(few), "end programs that listen there")
    return ok("ports", f"hone up picks free ports of {ports.RANGE.start}-{ports.RANGE.stop - 1}")


def open_files(_: Deployment) -> Iterator[Finding]:
    """Look at the limit of open files, which connections of every process count towards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = f"at most {'unlimited' if soft == resource.RLIM_INFINITY else soft} in a process"
    mend = f"ulimit -n {hard if 0 < hard < 65_536 else 65_536}, or LimitNOFILE of the systemd unit"
    if soft == resource.RLIM_INFINITY or soft >= _FEW_FILES:
        yield ok("open files", found)
    elif soft < _FILES:
        yield error("open files", found, mend)
    else:
        yield warning("open files", found, mend)


def clock(_: Deployment) -> Iterator[Finding]:
    """Look whether the clock is behind the files of this program. Servers are compared where they answer."""
    now, written = time.time(), Path(__file__).stat().st_mtime
    if now < written - _DAY_S:
        yield error("clock", time.strftime("%Y-%m-%d %H:%M UTC, before this program was installed", time.gmtime(now)),
                    "set the clock (timedatectl set-ntp true): object stores refuse requests of another day")
    else:
        yield ok("clock", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))
