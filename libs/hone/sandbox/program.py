"""A program that runs in the sandbox, its limits, and what became of it (docs/sandbox.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MEBI = 2**20
MOST_SOURCE_BYTES = 256 * 1024
"""Of the source of a program."""


class Ended(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    """The script ended, or each call was made. Each call says by itself whether it raised."""
    ERROR = "error"
    """The source raised an error."""
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    REFUSED = "refused"
    """The source cannot be run: it does not compile, or has no such function."""
    ENDED = "ended"
    """Its process ended in another way: by a signal, or by os._exit."""
    INFRA_ERROR = "infra_error"
    """The sandbox failed, or did not answer. It says nothing about the program."""


@dataclass(frozen=True)
class Limits:
    """Limits of a program. The default of `call_s` is that of the run."""

    wall_s: float = 10.0  # seconds by the clock, of the whole run
    call_s: float | None = None  # seconds by the clock, of one call of its function
    cpu_s: float = 10.0  # seconds that a process of the program computes
    memory_bytes: int = 512 * MEBI  # beyond what an idle interpreter has
    output_bytes: int = MEBI  # of stdout, of stderr, and of what its function returns, each
    file_bytes: int = 64 * MEBI  # of all files in its directory
    processes: int = 16  # and threads


@dataclass(frozen=True)
class Program:
    """A program in Python: a whole script, or a source with a `function` that is called with each of `calls`.

    All calls are made in one process, in their order. Arguments are JSON values; so is what the function returns.
    The caller compares: nothing that a program must not know belongs in here.
    """

    source: str
    files: Mapping[str, bytes] = field(default_factory=dict)  # of its directory, by their path below it
    stdin: bytes = b""
    function: str = ""
    calls: Sequence[Sequence[Any]] = ()  # the arguments of each
    limits: Limits = Limits()


@dataclass(frozen=True)
class Outcome:
    """Result of a call, or the traceback of its exception, or why its value is not JSON."""

    value: Any = None  # a JSON value, also NaN and the infinities
    error: str = ""


@dataclass(frozen=True)
class Ran:
    """Result of a program. `outcomes` has an entry for each call that was answered, in their order."""

    status: Ended
    detail: str = ""  # why, for people
    outcomes: tuple[Outcome, ...] = ()
    stdout: bytes = b""
    stderr: bytes = b""
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    exit_code: int | None = None  # None if it was ended by a signal
