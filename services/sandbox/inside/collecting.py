"""View of a keeper on a program: its output, its answers, its end, and the limit that it reached.

Standard library only.
"""

import os
import selectors
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from services.sandbox.inside.program import ANSWER, BEGUN, FAILED, FINISHED, MEMORY, RAISED, REFUSED, VALUE, Request

_CHUNK = 65536
_COUNTED = 0.75
"""Of the processor time at which the kernel ends a process, what its usage may say: for that it counts whole ticks."""
_DRAIN = 64
"""Reads of a descriptor after the program's end: what is left in a pipe is less."""


@dataclass
class Collected:
    """A program's run."""

    status: str = ""
    detail: str = ""
    calls: list[tuple[bytes, bytes]] = field(default_factory=list)  # kind and text of each answered call
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = None
    wall_ms: float = 0.0
    cpu_ms: float = 0.0


class Collector:
    """Watches one run until its process has ended."""

    def __init__(self, request: Request, number: bytes, began: float, selector: selectors.BaseSelector) -> None:
        self._request, self._number, self._began, self._selector = request, number, began, selector
        self._most: int = request.limits["output_bytes"]
        self._written = {"stdout": bytearray(), "stderr": bytearray()}
        self._unread = bytearray()  # of answers
        self._answered = 0
        self._call_began: float | None = None
        self._found = Collected()
        self._end: tuple[bytes, str] | None = None  # kind and text of the answer that ended the run
        self._limit: tuple[str, str] | None = None

    def collect(self, pid: int, descriptors: Sequence[int], control: socket.socket) -> Collected:
        """Return the result of the process `pid`, which writes to stdout, stderr and its answers.

        It is reaped then, and the descriptors are closed.
        """
        process = os.pidfd_open(pid)
        names = dict(zip(descriptors, ("stdout", "stderr", "answers"), strict=True))
        for descriptor in (*names, process, control.fileno()):
            if descriptor in names:
                os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ, names.get(descriptor))
        while not self._step(process, control):
            pass
        signal.pidfd_send_signal(process, signal.SIGKILL) if self._limit else None
        _, status, usage = os.wait4(pid, 0)
        for descriptor, name in names.items():
            self._drain(descriptor, name)
        for descriptor in (process, *names):
            os.close(descriptor)
        return self._judged(os.waitstatus_to_exitcode(status), usage)

    def _step(self, process: int, control: socket.socket) -> bool:
        """Read what came, and return whether the run is over."""
        events = self._selector.select(max(self._left_s(), 0.0))
        if not events and self._left_s() <= 0:
            self._limit = ("time_limit", self._time_detail())
        for key, _ in events:
            if key.fd == control.fileno():
                self._limit = ("infra_error", "the caller left")
                control.recv(1)
            elif key.data and not self._read(key.fd, key.data):
                self._selector.unregister(key.fd)
        return self._limit is not None or any(key.fd == process for key, _ in events)

    def _left_s(self) -> float:
        limits, now = self._request.limits, time.monotonic()
        left_s: float = self._began + limits["wall_s"] - now
        if self._call_began is not None and limits["call_s"]:
            left_s = min(left_s, self._call_began + limits["call_s"] - now)
        return left_s

    def _time_detail(self) -> str:
        limits = self._request.limits
        if time.monotonic() >= self._began + limits["wall_s"]:
            return f"it took longer than {limits['wall_s']:g} s"
        return f"call {len(self._found.calls)} took longer than {limits['call_s']:g} s"

    def _read(self, descriptor: int, name: str) -> bool:
        """Read once, and return whether there may be more."""
        try:
            part = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if name == "answers":
            self._take_answers(part)
            return bool(part)
        kept = self._written[name]
        kept += part[:self._most - len(kept)]
        if part and len(kept) >= self._most:
            self._limit = self._limit or ("output_limit", f"{name} has more than {self._most} bytes")
        return bool(part)

    def _drain(self, descriptor: int, name: str) -> None:
        for _ in range(_DRAIN):
            if not self._read(descriptor, name):
                return

    def _take_answers(self, part: bytes) -> None:
        self._unread += part
        while self._end is None and len(self._unread) >= ANSWER.size:
            number, kind, size = ANSWER.unpack_from(self._unread)
            if number != self._number:
                self._end = (b"?", "it wrote to the descriptor of its answers")
                return
            if self._answered + size > self._most:
                self._limit = self._limit or ("output_limit", f"its answers have more than {self._most} bytes")
                return
            if len(self._unread) < ANSWER.size + size:
                return
            self._take_answer(kind, bytes(self._unread[ANSWER.size:ANSWER.size + size]))
            self._answered += size
            del self._unread[:ANSWER.size + size]

    def _take_answer(self, kind: bytes, body: bytes) -> None:
        self._call_began = time.monotonic()
        if kind in (VALUE, RAISED) and len(self._found.calls) < len(self._request.calls):
            self._found.calls.append((kind, body))
        elif kind != BEGUN:
            self._end = (kind, body.decode(errors="replace"))

    def _judged(self, code: int, usage: Any) -> Collected:
        found = self._found
        found.stdout, found.stderr = bytes(self._written["stdout"]), bytes(self._written["stderr"])
        found.wall_ms = 1000 * (time.monotonic() - self._began)
        found.cpu_ms = 1000 * (usage.ru_utime + usage.ru_stime)
        found.exit_code = code if code >= 0 else None
        found.status, found.detail = judge(self._limit, self._end, code, found.cpu_ms, self._request.limits["cpu_s"])
        if found.status == "finished" and len(found.calls) < len(self._request.calls):
            found.status, found.detail = "ended", "it ended before it answered each call"
        return found


_ENDS = {FINISHED: "finished", FAILED: "error", REFUSED: "refused", MEMORY: "memory_limit"}


def judge(
    limit: tuple[str, str] | None, end: tuple[bytes, str] | None, code: int, cpu_ms: float, cpu_s: float,
) -> tuple[str, str]:
    """Return status and detail of a run: by the limit that it reached, else by its last answer, else by its end.

    `code` is that of the process, negative for a signal.
    """
    if limit is not None:
        return limit
    if end is not None and end[0] in _ENDS:
        status = _ENDS[end[0]]
        return status, {"finished": "", "memory_limit": "it asked for more memory"}.get(status, end[1])
    if code == -signal.SIGKILL and cpu_ms >= 1000 * _COUNTED * cpu_s:
        return "time_limit", f"it computed for longer than {cpu_s:g} s"
    said = f", after {end[1]}" if end is not None and end[0] == b"?" else ""
    if code < 0:
        return "ended", f"its process ended with {signal.Signals(-code).name}{said}"
    return "ended", f"its process ended with code {code} on its own{said}"


