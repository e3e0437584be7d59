"""The levels of isolation: what each forbids, and how a keeper is started at it."""

import json
import os
import shutil
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from services.sandbox import view

BUBBLEWRAP = "bwrap"


class Level(StrEnum):
    """From the weakest to the strongest."""

    NONE = "none"
    LIMITS = "limits"
    NAMESPACES = "namespaces"
    BUBBLEWRAP = "bubblewrap"

    @property
    def strong(self) -> bool:
        """Whether programs are parted from everything else."""
        return self in STRONG


STRONG = (Level.BUBBLEWRAP, Level.NAMESPACES)
"""Levels that part a program from everything else; the first one that works here is in force unless another is asked
for."""
_WALLS = (
    "no network: no interface but a loopback that is down, and sockets between its own processes alone",
    "no files but an interpreter, its libraries and packages, all read-only, and an empty directory of its own",
    "no processes but its own: it sees no others and signals no others",
    "no new namespaces, mounts, tracing, keys, shared memory of System V or modules, by a filter of system calls")
_LIMITS = "no more time, memory, processes, output and files than its limits say, and no variables of the service"
FORBIDDEN: dict[Level, Sequence[str]] = {
    Level.BUBBLEWRAP: (*_WALLS, _LIMITS), Level.NAMESPACES: (*_WALLS, _LIMITS),
    Level.LIMITS: (
        "no sockets but pairs, no processes, and no signals to others, by a filter of system calls", _LIMITS),
    Level.NONE: ("no more time and output than its limits say",),
}
"""Abilities that a program lacks."""
_PYTHON_FLAGS = ("-s", "-S", "-P", "-B", "-X", "utf8", "-c")
_START = """
import sys, types
for name in ("services", "services.sandbox"):  # the packages themselves import what a program must not see
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv[1]]
from services.sandbox.inside.keeper import main
main(sys.argv[2])
"""
ENVIRONMENT = {"PATH": "/nowhere", "HOME": "/program", "TMPDIR": "/program", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0",
               "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""The variables of a program."""


def asked_for(isolation: str) -> Sequence[Level]:
    """Return the levels that a setting allows, the best one first."""
    return STRONG if isolation == "strongest" else (Level(isolation),)


def command(level: Level, control: int, preload: Sequence[str]) -> list[str]:
    """Return the command of a keeper whose socket is the descriptor `control`. Raises FileNotFoundError."""
    seen = view.look()
    start = [seen.python, *_PYTHON_FLAGS, _START, str(view.HERE)]
    given: dict[str, object] = {
        "level": level, "control": control, "binds": seen.binds, "links": seen.links, "path": seen.path,
        "preload": list(preload)}
    if level is Level.BUBBLEWRAP:
        given |= {"bubblewrap": _bubblewrap(seen), "command": start}
    return [*start, json.dumps(given)]


def environment(level: Level, folder: str) -> dict[str, str]:
    """Return the variables of a keeper, and so of its programs. `folder` is for temporary files without namespaces."""
    return ENVIRONMENT if level in STRONG else {**ENVIRONMENT, "HOME": folder, "TMPDIR": folder}


def _bubblewrap(seen: view.View) -> list[str]:
    program = shutil.which(BUBBLEWRAP)
    if program is None:
        raise FileNotFoundError(f"{BUBBLEWRAP} is not installed (Debian: apt-get install bubblewrap)")
    outermost = _outermost(seen.binds)
    folders = sorted({parent for path in outermost for parent in _parents(path)})
    shown = [part for path in folders for part in ("--perms", "0755", "--dir", path)]
    shown += [part for path in outermost for part in _shown(path)]
    linked = [part for path, target in seen.links.items() for part in ("--symlink", target, path)]
    return [program, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
            "--hostname", "sandbox", "--as-pid-1", "--die-with-parent", *shown, *linked, "--dir", "/program",
            "--remount-ro", "/", "--chdir", "/", "--unsetenv", "PWD", "--"]


def _outermost(paths: Sequence[str]) -> list[str]:
    """Return the paths that are in none of the others."""
    return [path for path in paths if not any(path.startswith(f"{other}{os.sep}") for other in paths)]


def _parents(path: str) -> list[str]:
    return [str(parent) for parent in Path(path).parents][:-1]


def _shown(path: str) -> tuple[str, str, str]:
    return ("--dev-bind" if path.startswith("/dev/") else "--ro-bind", path, path)
