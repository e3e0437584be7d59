"""View of a program on this machine's files: an interpreter, the libraries that it loads, and packages."""

import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from services.sandbox.inside.walls import WORK

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_DATA = ("/usr/share/zoneinfo", "/etc/ld.so.cache", "/lib64", "/usr/lib64")
_PACKAGES = re.compile(r"(site|dist)-packages$")
HERE = Path(__file__).resolve().parent
"""The package of this service."""
_INSIDE = HERE / "inside"


class View(NamedTuple):
    """Places that are shown, read-only, symbolic links, and where modules are looked for."""

    binds: list[str]
    links: dict[str, str]
    path: list[str]
    python: str


def look() -> View:
    """Return the view for the interpreter of this process."""
    python = os.path.realpath(sys.executable)
    path = [*_standard(), *_packages()]
    shown = [python, *path, *_libraries(), *_DEVICES, *_DATA, str(_INSIDE)]
    binds = sorted({os.path.realpath(one) for one in shown if os.path.exists(one)})
    return View(binds, links(binds), path, python)


def links(binds: Sequence[str]) -> dict[str, str]:
    """Return symbolic links: this machine's, and places for temporary files, unless something in them is shown."""
    found = {one: os.readlink(one) for one in ("/lib", "/lib64", "/usr/lib64") if os.path.islink(one)}
    free = [one for one in ("/tmp", "/dev/shm") if not any(bind.startswith(f"{one}{os.sep}") for bind in binds)]
    return found | dict.fromkeys(free, WORK)


def _standard() -> list[str]:
    shared = sysconfig.get_config_var("DESTSHARED")
    return [os.path.realpath(one) for one in (os.path.dirname(os.__file__), shared) if one and os.path.isdir(one)]


def _packages() -> list[str]:
    return [os.path.realpath(one) for one in sys.path if _PACKAGES.search(one) and os.path.isdir(one)]


def _libraries() -> Iterator[str]:
    """Yield the directories of the libraries that this process has loaded."""
    with open("/proc/self/maps") as maps:
        loaded = {line.split(maxsplit=5)[-1].strip() for line in maps if ".so" in line}
    for file in loaded:
        if file.startswith("/") and not _PACKAGES.search(file.partition("-packages")[0] + "-packages"):
            yield os.path.dirname(file)
