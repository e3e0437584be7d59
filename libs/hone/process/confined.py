"""Processes for what came with a model or a task and is executed. They hold no secrets, are limited, and can be killed.

Templates, tokenizers and graders are programs that nobody checked. Memory and time of such a process are limited by the
kernel. A parent that gets no answer kills it and starts another one.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

MEMORY_BYTES = 4 * 2**30
"""Address space of such a process."""
_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
REAL, PROCESSOR = signal.ITIMER_REAL, signal.ITIMER_VIRTUAL
"""Time by the clock, and time that the process computes."""
_SIGNALS = {REAL: signal.SIGALRM, PROCESSOR: signal.SIGVTALRM}
_CHUNK, _LONGEST_ANSWER = 2**20, 2**28
_DYING_S = 1.0
"""Time from the close of a process's socket to its end."""


class TimeUp(BaseException):
    """The work takes too long. It is no Exception, so that no library catches it."""


class Ended(Exception):
    """The process has ended without an answer. The message says how."""


class TookTooLong(Ended):
    """The process was ended because its time was over."""


def environment() -> dict[str, str]:
    """Return the variables of such a process: no secrets, one thread, and one order of sets."""
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed, **_ONE_THREAD, "PYTHONHASHSEED": "0"}


def confine(memory_bytes: int = MEMORY_BYTES) -> None:
    """Limit this process's address space, and forbid it files and core dumps."""
    limits = ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0))
    for limit, value in limits:
        resource.setrlimit(limit, (value, value))


@contextmanager
def interrupted(seconds: float, timer: int = REAL) -> Iterator[None]:
    """Raise TimeUp after so many seconds of REAL or PROCESSOR time. Use it in the main thread only.

    Code below Python is not interrupted.
    """
    def raise_time_up(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise TimeUp

    before = signal.signal(_SIGNALS[timer], raise_time_up)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(_SIGNALS[timer], before)


@contextmanager
def ended(seconds: float) -> Iterator[None]:
    """Have the kernel end this process after so many seconds of processor time, whatever it does then."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Child:
    """A running process that answers one line with one line. One thread at a time may ask it."""

    def __init__(self, module: str, *arguments: str) -> None:
        """Start `python -m module arguments`."""
        self._socket, its = socket.socketpair()
        with its:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-m", module, *arguments], stdin=its.fileno(), stdout=its.fileno(), env=environment())

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def ask(self, line: bytes, wait_s: float) -> bytes:
        """Return the answer to a line, both without their line ends. Raises Ended; the process has ended then.

        `wait_s` is for each part of the exchange, by the clock: the last resort, beside the process's own limits.
        """
        try:
            self._socket.settimeout(wait_s)
            self._socket.sendall(line + b"\n")
            return self._answer()
        except TimeoutError as error:
            self.end()
            raise TookTooLong(f"it did not answer within {wait_s:g} s") from error
        except OSError as error:
            raise self._death() from error
        except BaseException:
            self.end()  # the next one who asks must not read this answer
            raise

    def kill(self) -> None:
        """Kill the process. A thread that waits for its answer gets Ended."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Kill the process and close its socket, when no thread waits for an answer."""
        self.kill()
        self._socket.close()

    def _answer(self) -> bytes:
        parts, length = list[bytes](), 0
        while length < _LONGEST_ANSWER:
            part = self._socket.recv(_CHUNK)
            if not part:
                raise ConnectionResetError
            parts.append(part)
            length += len(part)
            if part.endswith(b"\n"):
                return b"".join(parts)[:-1]
        raise ConnectionAbortedError

    def _death(self) -> Ended:
        """Return how the process ended, after its end of the socket was closed."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING_S)
        self.end()
        code = self._process.returncode
        if code == -signal.SIGPROF:
            return TookTooLong("its processor time was over")
        return Ended(f"its process ended with {f'signal {signal.Signals(-code).name}' if code < 0 else f'code {code}'}")
