"""A cell: one warm interpreter behind walls, its keeper, that runs one program at a time."""

import asyncio
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hone.sandbox.program import Ended, Limits
from services.sandbox import levels
from services.sandbox.inside import frames
from services.sandbox.levels import Level
from services.sandbox.requests import Asked, Done, failed

START_S = 60.0
"""Seconds within which a keeper has to be ready."""
GRACE_S = 3.0
"""Seconds beyond a program's own after which its keeper is killed: it should have answered."""
STOP_S = 1.0
"""Seconds within which a keeper has to end a program whose caller left."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_COUNTED = ("RssAnon:", "RssShmem:")


class NoStart(Exception):
    """A keeper cannot start behind the walls of a level. The message says what this machine lacks."""


class Cell:
    """A place for one program at a time. Its keeper starts when it is needed, and again after it was killed."""

    def __init__(self, level: Level, preload: Sequence[str] = ()) -> None:
        self._level, self._preload = level, preload
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._base_bytes, self._idle_bytes = 0, 0  # address space, and memory, before the first program
        self._over: str | None = None  # why it was killed

    async def start(self) -> None:
        """Start the keeper unless it runs. Raises NoStart."""
        if self.warm:
            return
        await self.kill()
        own, its = socket.socketpair()
        own.setblocking(False)
        with its:
            self._process = self._launch(its)
        self._reader, self._writer = await asyncio.open_connection(sock=own)
        try:
            async with asyncio.timeout(START_S):
                await self._receive()
        except (EOFError, OSError, TimeoutError) as error:
            raise NoStart(await self._last_words(error)) from error
        except BaseException:
            self._kill()
            raise
        self._over = None
        self._base_bytes = max(map(_space_bytes, self._pids()))
        self._idle_bytes = self.memory_bytes()

    @property
    def warm(self) -> bool:
        """Whether its keeper runs."""
        return self._process is not None and self._process.poll() is None

    def most_bytes(self, limits: Limits) -> int:
        """Return the memory that all processes of a program and its keeper may have, each with what was loaded."""
        return limits.memory_bytes + (1 + limits.processes) * self._idle_bytes

    def memory_bytes(self) -> int:
        """Return the memory of its processes that no file backs; what several share counts for each."""
        return sum(map(_memory_bytes, self._pids()))

    async def run(self, asked: Asked) -> Done:
        """Run a program. A cell whose keeper fails is started again by the next program.

        A caller that is cancelled ends the program, and leaves a cell that can be used again.
        """
        try:
            await self.start()
            return await self._run(asked)
        except NoStart as error:
            return failed(str(error))

    async def _run(self, asked: Asked) -> Done:
        limits = asked.limits(self._base_bytes)
        self._send(frames.pack({"limits": limits, "function": asked.function, "files": list(asked.files)}, asked.parts))
        try:
            async with asyncio.timeout(limits["wall_s"] + GRACE_S):
                return Done(*await self._receive())
        except asyncio.CancelledError:
            await asyncio.shield(self._stop())
            raise
        except TimeoutError:
            over, self._over = self._over, None
            await self.kill()
            return failed(over or f"its keeper did not answer within {GRACE_S:g} s of the program's limit")
        except (EOFError, OSError) as error:
            over, self._over = self._over, None
            words = await self._last_words(error)
            return Done({"status": Ended.MEMORY_LIMIT, "detail": over}, []) if over else failed(words)

    def end(self, why: str) -> None:
        """Kill all processes of the cell during a run, whose program then is one that reached its memory limit."""
        self._over = why
        self._kill()

    async def kill(self) -> None:
        """Kill all processes of the cell."""
        self._kill()
        process, self._process = self._process, None
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if process is not None:
            await asyncio.to_thread(process.wait)
            if process.stderr is not None:
                process.stderr.close()

    def _kill(self) -> None:
        for pid in reversed(self._pids()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _pids(self) -> list[int]:
        """Return all processes of the cell, none before its start."""
        return [self._process.pid, *family(self._process.pid)] if self._process else []

    def _launch(self, its: socket.socket) -> "subprocess.Popen[bytes]":
        """Start the keeper's process, in this thread: it ends with the thread that started it."""
        try:
            command = levels.command(self._level, its.fileno(), self._preload)
        except OSError as error:
            raise NoStart(str(error)) from error
        return subprocess.Popen(
            command, env=levels.environment(self._level, tempfile.gettempdir()), cwd="/", pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    async def _stop(self) -> None:
        """End the program that runs, and throw its answer away."""
        try:
            self._send(frames.STOP)
            async with asyncio.timeout(STOP_S):
                await self._receive()
        except (EOFError, OSError, TimeoutError):
            await self.kill()

    def _send(self, message: bytes) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(message)

    async def _receive(self) -> tuple[dict[str, Any], list[bytes]]:
        """Return the keeper's next message. Raises EOFError or OSError if it has ended."""
        if self._reader is None:
            raise EOFError("it has ended")
        _, head, body = frames.LENGTHS.unpack(await self._reader.readexactly(frames.LENGTHS.size))
        return frames.unpack(await self._reader.readexactly(head), await self._reader.readexactly(body))

    async def _last_words(self, error: BaseException) -> str:
        """Kill the cell, and return what its keeper wrote last, or else the error."""
        process = self._process
        self._kill()
        written = b""
        if process is not None and process.stderr is not None:
            written = await asyncio.to_thread(process.stderr.read)
        await self.kill()
        lines = written.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its keeper ended: {error!r}"


def family(pid: int) -> list[int]:
    """Return the processes that descend of one, parents first."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry))
    found = list(children.get(pid, ()))
    for one in found:
        found += children.get(one, ())
    return found


def _memory_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(_COUNTED)) << 10


def _space_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * _PAGE
    except OSError:
        return 0


def _parent(pid: str) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None
