"""System calls of Linux that Python 3.11 does not offer. Each raises OSError. Standard library only."""

import ctypes
import os
import platform

NEW_MOUNTS, NEW_CGROUPS, NEW_NAMES, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEW_USERS, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
"""CLONE_NEW… of sched.h."""
READ_ONLY, NO_SETUID, NO_DEVICES, NO_EXECUTION, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
"""MS_… of sys/mount.h."""
_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SET_ATTRIBUTES = 442  # mount_setattr, on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SET_CAPABILITIES = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522
_DIE_WITH_PARENT, _DROP_BOUND, _NO_NEW_PRIVILEGES, _SECCOMP, _AMBIENT = 1, 24, 38, 22, 47
_FILTER, _CLEAR_AMBIENT = 2, 4
_LAST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
_libc.mount.argtypes = (*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p)


class _Attributes(ctypes.Structure):
    _fields_ = (("set", ctypes.c_uint64), ("clear", ctypes.c_uint64), ("propagation", ctypes.c_uint64),
                ("users", ctypes.c_uint64))


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process into namespaces of its own; NEW_PROCESSES moves its next children instead."""
    _checked(_libc.unshare(flags), "unshare")


def join(descriptor: int, flags: int) -> None:
    """Move this process into the namespaces of the process behind a pidfd."""
    _checked(_libc.setns(descriptor, flags), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or bind a place to another one."""
    kind_bytes = None if kind is None else kind.encode()
    _checked(_libc.mount(source.encode(), target.encode(), kind_bytes, flags, options.encode() or None),
             f"mount of {source} at {target}")


def unmount(target: str) -> None:
    """Take a mount away, at once for everyone who does not have it open."""
    _checked(_libc.umount2(target.encode(), _DETACH), f"unmount of {target}")


def protect(target: str, flags: int) -> None:
    """Add READ_ONLY, NO_SETUID and so on to a mount and all mounts below it. Needs Linux 5.12."""
    attributes = _Attributes(flags)
    _checked(_libc.syscall(_SET_ATTRIBUTES, _AT_FDCWD, target.encode(), _AT_RECURSIVE, ctypes.byref(attributes),
                           ctypes.sizeof(attributes)), f"protection of {target}")


def change_root(new: str, old: str) -> None:
    """Make `new` the root, and the old root visible at `old`."""
    _checked(_libc.syscall(_PIVOT_ROOT[platform.machine()], new.encode(), old.encode()), f"pivot_root to {new}")


def set_host_name(name: str) -> None:
    _checked(_libc.sethostname(name.encode(), len(name)), "sethostname")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _control(_DIE_WITH_PARENT, 9)


def forbid_new_privileges() -> None:
    """Give up privileges that a program could get by executing a file. It cannot be undone."""
    _control(_NO_NEW_PRIVILEGES, 1)


def drop_capabilities() -> None:
    """Give up every capability, for this process and all that it starts."""
    machine = platform.machine()
    for number in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_DROP_BOUND, number, 0, 0, 0)  # fails for numbers that this kernel does not have
    _libc.prctl(_AMBIENT, _CLEAR_AMBIENT, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _checked(_libc.syscall(_SET_CAPABILITIES[machine], header, (ctypes.c_uint32 * 6)()), "capset")


def install_filter(program: ctypes.Array[ctypes.c_char], length: int) -> None:
    """Have the kernel ask a filter of `length` instructions at each system call from now on. It cannot be undone."""
    prog = _Program(length, ctypes.cast(program, ctypes.c_void_p))
    _checked(_libc.prctl(_SECCOMP, _FILTER, ctypes.addressof(prog), 0, 0), "seccomp")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _control(option: int, value: int) -> None:
    _checked(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")
