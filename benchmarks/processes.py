"""Processor time and memory of a stack's processes, by their names, as the kernel counts them. Linux."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import psutil

MIB = 2**20
_FIELD = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def cpu_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """Return the processor seconds each process has used so far, with its children, ended ones included.

    A child that has a name of its own counts only under that.
    """
    named = frozenset(pids.values())
    return {name: _cpu_of_tree(psutil.Process(pid), named) for name, pid in pids.items()}


def peak_mib(pid: int) -> float:
    """Return the largest resident size a process ever had, MiB. Raises psutil.NoSuchProcess."""
    return _kib(pid, "status")["VmHWM"] / 1024


def restart_peak_mib() -> float:
    """Let this process's largest resident size count from now, and return the present one, MiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_mib(os.getpid())


def shared_out_mib(pid: int) -> float:
    """Return the present size of a process, MiB; of pages that n processes share it bears one nth."""
    return _kib(pid, "smaps_rollup")["Pss"] / 1024


def children(pid: int) -> list[int]:
    """Return the pids of all descendants of a process."""
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def _cpu_of_tree(process: psutil.Process, named: frozenset[int]) -> float:
    times = process.cpu_times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + sum(_cpu_of_tree(child, named) for child in process.children() if child.pid not in named)


def _kib(pid: int, file: str) -> dict[str, int]:
    try:
        text = Path(f"/proc/{pid}/{file}").read_text()
    except (FileNotFoundError, ProcessLookupError) as gone:
        raise psutil.NoSuchProcess(pid) from gone
    found = {name: int(value) for name, value in _FIELD.findall(text)}
    if not found:  # a process that has ended and waits to be reaped has no memory
        raise psutil.NoSuchProcess(pid)
    return found
