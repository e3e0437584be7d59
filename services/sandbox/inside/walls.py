"""The walls around a keeper and its programs: namespaces with nothing in them but an interpreter, or only limits.

Standard library only.
"""

import os
import shutil
import signal
import tempfile
from contextlib import suppress
from typing import Any, Protocol

from services.sandbox.inside import filter as calls
from services.sandbox.inside import program, system

WORK = "/program"
"""The program's directory, the only one that it can write to."""
INNER, OUTER = 1000, 65534
"""The user of programs: inside; and on the machine, where the service's user is root."""
_FILES = 4096
_SHARED = 2
"""Processes beside those of a program that the kernel counts with them: the keeper, and the one that started it."""


class Walls(Protocol):
    """Work of a keeper around each program."""

    def open(self, limits: dict[str, Any]) -> None:
        """Make an empty directory for the next program. Raises OSError."""

    def fork(self) -> int:
        """Start the program's process, and return its id; 0 in that process."""

    def enter(self, limits: dict[str, Any]) -> None:
        """Give up all rights, in the program's process. Raises OSError."""

    def close(self, pid: int) -> None:
        """End all that the program started, after its process `pid` was reaped, and remove its directory."""


class Parted:
    """Namespaces. Each program has processes and a directory of its own within those of its keeper."""

    def __init__(self, separate_user: bool) -> None:
        """`separate_user`: programs run as INNER, the keeper as root inside."""
        self._user = INNER if separate_user else os.getuid()
        self._separate = separate_user
        self._self = os.pidfd_open(os.getpid())
        self._filter = calls.make()

    def open(self, limits: dict[str, Any]) -> None:
        options = f"size={limits['file_bytes']},nr_inodes={_FILES},mode=700,uid={self._user},gid={self._user}"
        flags = system.NO_SETUID | system.NO_DEVICES | system.NO_EXECUTION
        system.mount("tmpfs", WORK, "tmpfs", flags, options)

    def fork(self) -> int:
        system.unshare(system.NEW_PROCESSES)
        pid = os.fork()
        if pid:
            system.join(self._self, system.NEW_PROCESSES)
        return pid

    def enter(self, limits: dict[str, Any]) -> None:
        os.setsid()
        program.limit(limits, limits["processes"] + (0 if self._separate else _SHARED))
        if self._separate:
            os.setgroups([])
            os.setresgid(INNER, INNER, INNER)
            os.setresuid(INNER, INNER, INNER)
        system.drop_capabilities()
        system.forbid_new_privileges()
        os.chdir(WORK)
        self._filter.install()

    def close(self, pid: int) -> None:  # noqa: ARG002 — the kernel ended all of them with the first
        system.unmount(WORK)


class Bare:
    """No namespaces: limits of the kernel and the filter of system calls, or nothing at all."""

    def __init__(self, limited: bool) -> None:
        self._limited = limited
        self._folder = ""

    def open(self, limits: dict[str, Any]) -> None:  # noqa: ARG002
        self._folder = tempfile.mkdtemp(prefix="program-")
        if self._limited and os.geteuid() == 0:
            os.chown(self._folder, OUTER, OUTER)

    def fork(self) -> int:
        return os.fork()

    def enter(self, limits: dict[str, Any]) -> None:
        os.setsid()
        os.environ["TMPDIR"] = self._folder
        os.chdir(self._folder)
        if not self._limited:
            return
        program.limit(limits, limits["processes"] + limits["others"])
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(OUTER, OUTER, OUTER)
            os.setresuid(OUTER, OUTER, OUTER)
            system.drop_capabilities()
        system.forbid_new_privileges()
        calls.make(alone=os.getpid()).install()

    def close(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)


def part(binds: list[str], links: dict[str, str]) -> bool:
    """Move into namespaces of our own in which only `binds` of the file system are left, read-only.

    Returns in another process, the first one of its namespace; the one that called waits for it and ends. Return
    whether programs have a user of their own. Raises OSError.
    """
    separate = become_root_of_own_users(
        system.NEW_MOUNTS | system.NEW_PROCESSES | system.NEW_NETWORK | system.NEW_IPC | system.NEW_NAMES
        | system.NEW_CGROUPS)
    pid = os.fork()
    if pid:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    system.die_with_parent()
    system.set_host_name("sandbox")
    _leave_files(binds, links)
    return separate


def become_root_of_own_users(others: int = 0) -> bool:
    """Move into a namespace of users in which we are root, and into `others`. Raises OSError.

    Return whether it has a second user, for programs: only the machine's root can have it so.
    """
    own = (os.geteuid(), os.getegid())
    separate = own[0] == 0 and _has_user(OUTER)
    asked, answered = os.pipe(), os.pipe()
    parent = os.getpid()
    if separate:
        os.setgroups([])
        if os.fork() == 0:  # who maps two users has to stand outside
            _map_from_outside(parent, asked, answered)
    try:
        system.unshare(system.NEW_USERS | others)
    except OSError as error:
        raise OSError(f"this process may have no user namespaces: {error.strerror}") from error
    if not separate:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {own[0]} 1\n"), ("gid_map", f"0 {own[1]} 1\n")):
            _put(f"/proc/{parent}/{name}", text)
    else:
        os.write(asked[1], b"\n")
        os.close(answered[1])
        said = os.read(answered[0], 500).decode()
        os.wait()
        if said != "done":
            raise OSError(f"users of the namespace: {said or 'they were not mapped'}")
    for descriptor in {*asked, *answered} - ({answered[1]} if separate else set()):
        os.close(descriptor)
    return separate


def _has_user(user: int) -> bool:
    """Return whether a user exists in our namespace, which may be a container's with one user alone."""
    with open("/proc/self/uid_map") as file:
        ranges = [[int(number) for number in line.split()] for line in file]
    return any(first <= user < first + count for first, _, count in ranges)


def _map_from_outside(pid: int, asked: tuple[int, int], answered: tuple[int, int]) -> None:
    try:
        os.read(asked[0], 1)
        for kind in ("uid", "gid"):
            _put(f"/proc/{pid}/{kind}_map", f"0 0 1\n{INNER} {OUTER} 1\n")
        os.write(answered[1], b"done")
    except OSError as error:
        os.write(answered[1], str(error).encode())
    finally:
        os._exit(0)


def _put(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _leave_files(binds: list[str], links: dict[str, str]) -> None:
    """Make a root of an empty file system, show `binds` and `links` in it, and forget the old root."""
    base = "/tmp"
    system.mount("none", "/", None, system.RECURSIVE | system.PRIVATE)
    system.mount("tmpfs", base, "tmpfs", system.NO_SETUID | system.NO_DEVICES, "size=1m,mode=755")
    os.mkdir(f"{base}/old")
    os.mkdir(f"{base}/new")
    system.change_root(base, f"{base}/old")
    os.chdir("/")
    system.mount("tmpfs", "/new", "tmpfs", system.NO_SETUID | system.NO_DEVICES, "size=1m,mode=755")
    for path in sorted(binds):
        _show(path)
    for path, target in links.items():
        os.makedirs(os.path.dirname(f"/new{path}"), exist_ok=True)
        os.symlink(target, f"/new{path}")
    os.makedirs(f"/new{WORK}", exist_ok=True)
    os.chdir("/new")
    system.change_root(".", ".")
    system.unmount(".")
    os.chdir("/")
    system.protect("/", system.READ_ONLY | system.NO_SETUID)


def _show(path: str) -> None:
    old, new = f"/old{path}", f"/new{path}"
    if os.path.exists(new):  # it is in one that is shown
        return
    if os.path.isdir(old):
        os.makedirs(new)
    else:
        os.makedirs(os.path.dirname(new), exist_ok=True)
        open(new, "w").close()
    system.mount(old, new, None, system.BIND | system.RECURSIVE)
