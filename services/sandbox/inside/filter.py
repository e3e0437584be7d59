"""The filter of system calls that a program runs under: seccomp, as instructions of the kernel's packet filter.

Calls that reach other processes, the machine or rarely tested parts of the kernel are refused with EPERM. Calls that
are newer than this list are unknown to the program (ENOSYS). Standard library only.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from services.sandbox.inside import system

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # places in struct seccomp_data
_UNKNOWN = 451
"""The first number that this list does not know; the numbers of the x32 interface are far above it."""
_NAMESPACES, _THREAD = 0x7E020080, 0x00010000
_UNIX_SOCKETS = 1
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_REFUSED = {  # x86_64, aarch64
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280), "capset": (126, 91),
    "chroot": (161, 51), "clock_adjtime": (305, 266), "clock_settime": (227, 112), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "get_mempolicy": (239, 236), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioperm": (173, None),
    "iopl": (172, None), "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "lookup_dcookie": (212, 18), "mbind": (237, 235),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "migrate_pages": (256, 238), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239), "mq_open": (240, 180),
    "msgget": (68, 186), "name_to_handle_at": (303, 264), "nfsservctl": (180, 42), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "perf_event_open": (298, 241), "personality": (135, 92), "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pivot_root": (155, 41), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "request_key": (249, 218), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "seccomp": (317, 277), "semget": (64, 190), "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450), "setdomainname": (171, 162), "sethostname": (170, 161),
    "setns": (308, 268), "setpriority": (141, 140), "settimeofday": (164, 170), "shmget": (29, 194),
    "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116), "tkill": (200, 130), "umount2": (166, 39),
    "unshare": (272, 97), "uselib": (134, None), "userfaultfd": (323, 282), "ustat": (136, None), "vhangup": (153, 58),
}
_LOOKED_AT = {
    "clone": (56, 220), "clone3": (435, 435), "fork": (57, None), "kill": (62, 129), "prlimit64": (302, 261),
    "socket": (41, 198), "tgkill": (234, 131), "vfork": (58, None),
}
"""Calls that are refused for some arguments."""

Instruction = tuple[int, int, int, int]


class Filter(NamedTuple):
    """Instructions in the form that the kernel reads."""

    program: "ctypes.Array[ctypes.c_char]"
    length: int

    def install(self) -> None:
        """Put this process, and all that it starts, under the filter. It cannot be undone. Raises OSError."""
        system.install_filter(self.program, self.length)


def numbers(machine: str = "") -> Mapping[str, int]:
    """Return the number of each call of the list. Raises OSError for an architecture without one."""
    found = machine or platform.machine()
    if found not in _ARCHITECTURES:
        raise OSError(f"the filter of system calls: found {found}, expected {' or '.join(_ARCHITECTURES)}")
    column = list(_ARCHITECTURES).index(found)
    columns = ((name, pair[column]) for name, pair in {**_REFUSED, **_LOOKED_AT}.items())
    return {name: number for name, number in columns if number is not None}


def make(alone: int | None = None) -> Filter:
    """Return the filter. `alone` is the id of a process that no namespace parts from others: it may start threads, but
    no processes, signals itself only, and has no sockets but pairs.
    """
    code = list(_instructions(numbers(), _ARCHITECTURES[platform.machine()], alone))
    packed = b"".join(struct.pack("HBBI", *one) for one in code)
    return Filter(ctypes.create_string_buffer(packed, len(packed)), len(code))


def _instructions(known: Mapping[str, int], architecture: int, alone: int | None) -> Iterator[Instruction]:
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _EQUAL, 1, 0, architecture
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, _NUMBER
    yield _AT_LEAST, 0, 1, _UNKNOWN
    yield _RETURN, 0, 0, _ERROR | errno.ENOSYS
    for name in (name for name in _REFUSED if name in known):
        yield from _refuse(known[name])
    yield from _refuse(known["clone3"], errno.ENOSYS)  # its flags cannot be read; the C library uses clone then
    yield from _refuse_bits(known["clone"], _NAMESPACES)
    yield from _refuse_unless(known["prlimit64"], 0)
    yield from _alone(known, alone) if alone else _refuse_unless(known["socket"], _UNIX_SOCKETS, errno.EACCES)
    yield _RETURN, 0, 0, _ALLOW


def _alone(known: Mapping[str, int], pid: int) -> Iterator[Instruction]:
    for name in ("fork", "vfork"):
        if name in known:
            yield from _refuse(known[name])
    yield from _refuse(known["socket"], errno.EACCES)
    yield from _refuse_unless(known["kill"], pid)
    yield from _refuse_unless(known["tgkill"], pid)
    yield _EQUAL, 0, 4, known["clone"]
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    yield _ANY_BIT, 1, 0, _THREAD
    yield _RETURN, 0, 0, _ERROR | errno.EPERM
    yield _LOAD, 0, 0, _NUMBER


def _refuse(number: int, error: int = errno.EPERM) -> Iterator[Instruction]:
    yield _EQUAL, 0, 1, number
    yield _RETURN, 0, 0, _ERROR | error


def _refuse_bits(number: int, bits: int) -> Iterator[Instruction]:
    """Refuse a call whose first argument has one of these bits."""
    yield _EQUAL, 0, 4, number
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    yield _ANY_BIT, 0, 1, bits
    yield _RETURN, 0, 0, _ERROR | errno.EPERM
    yield _LOAD, 0, 0, _NUMBER


def _refuse_unless(number: int, value: int, error: int = errno.EPERM) -> Iterator[Instruction]:
    """Refuse a call unless its first argument is this value."""
    yield _EQUAL, 0, 4, number
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    yield _EQUAL, 1, 0, value
    yield _RETURN, 0, 0, _ERROR | error
    yield _LOAD, 0, 0, _NUMBER
