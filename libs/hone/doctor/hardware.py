"""Processors, memory, shared memory, GPUs and disks of this machine, as this process may use them."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from hone.doctor.deployment import Deployment
from hone.doctor.findings import Finding, error, ok, warning
from hone.spec.problems import Invalid
from hone.stack import interpreters

_GIB = 2**30
_SHM = Path("/dev/shm")
_CGROUP = Path("/sys/fs/cgroup")
_PROBE_S = 90.0

STACK_BYTES = 2 * _GIB
"""Memory of a stack with one process of each kind and a small model, with some to spare."""

_LEAST_BYTES = _GIB

_PROBE = """
import json, torch
devices = [[torch.cuda.get_device_name(one), torch.cuda.get_device_properties(one).total_memory]
           for one in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
print(json.dumps([torch.__version__, torch.version.cuda, devices]))
"""


def processors(deployment: Deployment) -> Iterator[Finding]:
    """Compare the processors that this process may use with the threads that the settings ask for."""
    usable, settings = usable_processors(), deployment.settings
    found = f"{usable:g} of {os.cpu_count()} usable"
    asked = {"HONE_ENGINE_THREADS": settings.engine.threads, "HONE_TRAINER_THREADS": settings.trainer.threads,
             "HONE_TRAINER_RANKS": settings.trainer.ranks}
    above = [f"{name} asks for {threads}" for name, threads in asked.items() if threads > max(1.0, usable)]
    if above:
        yield warning("processors", f"{found}; {', '.join(above)}", "ask for no more threads than there are processors")
    elif usable < 2:
        yield warning("processors", found, "a stack sorts digits on two processors; on a single processor sampling "
                                           "and training take turns")
    else:
        yield ok("processors", found)


def usable_processors() -> float:
    """Return how many processors affinity and the control group leave to this process."""
    allowed = float(len(os.sched_getaffinity(0)))
    quota, _, period = _text(_CGROUP / "cpu.max").partition(" ")
    return min(allowed, int(quota) / int(period)) if quota.isdecimal() and period.strip().isdecimal() else allowed


def memory(deployment: Deployment) -> Iterator[Finding]:
    """Look whether a stack fits into the memory that is left. One that runs has its memory already."""
    system = psutil.virtual_memory()
    limit, used = _text(_CGROUP / "memory.max"), _text(_CGROUP / "memory.current")
    left = system.available
    if limit.isdecimal() and used.isdecimal():
        left = min(left, int(limit) - int(used))
    found = f"{_gib(left)} left of {_gib(min(system.total, int(limit)) if limit.isdecimal() else system.total)}"
    if deployment.running:
        yield ok("memory", found)
    elif left < _LEAST_BYTES:
        yield error("memory", found, f"end other programs or take a larger machine: a stack needs {_gib(STACK_BYTES)}")
    elif left < STACK_BYTES:
        yield warning("memory", found, f"a stack and a small model need about {_gib(STACK_BYTES)}")
    else:
        yield ok("memory", found)


def shared_memory(deployment: Deployment) -> Iterator[Finding]:
    """Look at /dev/shm, through which ranks of a trainer and vLLM's workers hand over tensors."""
    needed = deployment.settings.trainer.ranks > 1 or deployment.settings.engine.kind == "vllm"
    report = error if needed else warning
    if not os.access(_SHM, os.W_OK):
        yield report("shared memory", f"{_SHM} cannot be written", f"mount a tmpfs at {_SHM}")
        return
    usage = shutil.disk_usage(_SHM)
    found = f"{_gib(usage.free)} left of {_gib(usage.total)} in {_SHM}"
    if usage.free < _GIB / 8:
        mend = "start the container with --shm-size=1g" if usage.total < _GIB / 4 else f"remove old files from {_SHM}"
        yield report("shared memory", found, f"{mend}; several ranks and vLLM hand over tensors there")
    else:
        yield ok("shared memory", found)


def gpus(deployment: Deployment) -> Iterator[Finding]:
    """Ask torch, in a process of its own, which GPUs it sees."""
    wanted = deployment.settings.trainer.device == "cuda"
    driver = shutil.which("nvidia-smi")
    try:
        python = interpreters.python("inference", deployment.environment)
    except Invalid as missing:
        yield error("engine", str(missing), "make vllm, or HONE_ENGINE=native")
        return
    done = subprocess.run([python, "-c", _PROBE], capture_output=True, text=True, timeout=_PROBE_S, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        yield (error if wanted else warning)("gpu", f"torch does not load: {reason}", "pip install 'hone-rl[train]'")
        return
    version, cuda, devices = json.loads(done.stdout.splitlines()[-1])
    if devices:
        yield ok("gpu", f"{', '.join(f'{name} ({_gib(size)})' for name, size in devices)}; torch {version}")
    elif wanted:
        yield error("gpu", f"torch {version} sees none", "HONE_TRAINER_DEVICE=cpu, or a torch with CUDA and a driver")
    elif driver:
        yield warning("gpu", f"{driver} exists and torch {version} (CUDA: {cuda or 'none'}) sees no GPU",
                      "install a torch with CUDA that fits the driver (nvidia-smi prints its version)")
    else:
        yield ok("gpu", f"none; trainers and engines compute on processors (torch {version})")


def disks(deployment: Deployment) -> Iterator[Finding]:
    """Look whether the stack's data, and bodies on their way through the gateway, have room."""
    for check, path in (("disk", deployment.state), ("temporary files", Path(tempfile.gettempdir()))):
        place = next(part for part in (path, *path.parents) if part.exists())
        if not os.access(place, os.W_OK):
            yield error(check, f"{place} cannot be written", f"let this user write there, or choose another place "
                        f"({'HONE_STATE' if check == 'disk' else 'TMPDIR'})")
            continue
        yield _room(check, place)


def _room(check: str, place: Path) -> Finding:
    free, system = shutil.disk_usage(place).free, os.statvfs(place)
    found = f"{_gib(free)} left for {place}"
    if free < _GIB or (system.f_files and system.f_favail < 1000):
        return error(check, f"{found}, {system.f_favail} files", "make room: a database on a full disk stops")
    if check == "disk" and free < 10 * _GIB:
        return warning(check, found, "each kept version of a model takes its weights' size, while training twice that")
    return ok(check, found)


def _text(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def _gib(size: float) -> str:
    return f"{size / _GIB:.1f} GiB"
