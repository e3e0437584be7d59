"""What a figure was measured on, and with what."""

import os
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

LIBRARIES = ("hone-rl", "torch", "transformers", "trl", "accelerate")


def provenance() -> dict[str, Any]:
    """Return the command, the machine and the date that every result carries."""
    return {"command": command(), "machine": describe(), "date": datetime.now(UTC).date().isoformat()}


def command() -> str:
    """Return the command line that started this process, as a user would type it, without where it writes to."""
    specification = getattr(sys.modules["__main__"], "__spec__", None)
    program = ["-m", specification.name.removesuffix(".__main__")] if specification else sys.argv[:1]
    given = sys.argv[1:]
    at = given.index("--out") if "--out" in given else len(given)
    return " ".join(["python", *program, *given[:at], *given[at + 2:]])


def describe() -> dict[str, Any]:
    """Return CPU model, cores, memory in GiB, library versions, and the load average of the last minute."""
    return {
        "cpu": _cpu_model(), "cores": len(os.sched_getaffinity(0)), "memory_gib": round(_memory_gib(), 1),
        "python": platform.python_version(), "libraries": _versions(), "load_before": round(os.getloadavg()[0], 2),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _versions() -> dict[str, str]:
    installed = {distribution.metadata["Name"] for distribution in metadata.distributions()}
    return {name: metadata.version(name) for name in LIBRARIES if name in installed}
