"""The pool: cells that are warm, a line before them, and a watch over the memory of what runs in them."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from hone.process.line import Line, Turn, Words
from hone.process.shares import WINDOW_S, FairShares
from hone.telemetry import metrics
from services.sandbox import self_test
from services.sandbox.cell import Cell, NoStart
from services.sandbox.levels import Level
from services.sandbox.requests import Asked, Done

WORDS = Words("place", "programs", "The same call may succeed later")
SHARE = 0.5
"""Of the pool's time: what a tenant, and a run of it, may use while others have programs."""
LOOK_S = 0.1
"""Seconds between two looks at the memory. Between them a program of several processes may have more than its limit."""
RETRY_S = 1.0
"""Pause after a keeper did not start."""
_log = logging.getLogger(__name__)


class Pool:
    """`size` cells behind the walls of a level."""

    def __init__(self, level: Level, size: int, preload: Sequence[str] = ()) -> None:
        self.level, self.preload = level, tuple(preload)
        self._cells = [Cell(level, preload) for _ in range(size)]
        self._line = Line(self._cells, FairShares(SHARE * WINDOW_S * size), WORDS)
        self._running: dict[Cell, Asked] = {}
        self._watching: asyncio.Task[None] | None = None
        self._warming = set[asyncio.Task[None]]()
        metrics.PROGRAMS_WAITING.set_function(lambda: self.waiting)

    @property
    def size(self) -> int:
        """Programs that can run at a time."""
        return len(self._cells)

    @property
    def waiting(self) -> int:
        """Programs that wait for a place."""
        return self._line.waiting

    @property
    def running(self) -> int:
        """Programs that run."""
        return len(self._running)

    async def start(self) -> None:
        """Start every cell. Raises NoStart."""
        await asyncio.gather(*(cell.start() for cell in self._cells))
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Kill every cell."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        for task in self._warming:
            task.cancel()
        await asyncio.gather(*self._warming, return_exceptions=True)
        await asyncio.gather(*(cell.kill() for cell in self._cells))

    async def run(self, asked: Asked, turn: Turn) -> Done:
        """Run a program when it is its owner's turn. Raises StillWaiting."""
        cell, owner = await self._line.take(turn), turn.owner
        began = self._line.shares.begin(owner)
        self._running[cell] = asked
        try:
            return await cell.run(asked)
        finally:
            del self._running[cell]
            self._line.shares.end(owner, began)
            self._free(cell)

    def _free(self, cell: Cell) -> None:
        """Let others have a cell, one that was killed when it is warm again."""
        if cell.warm:
            return self._line.give_back(cell)
        task = asyncio.create_task(self._warm(cell))
        self._warming.add(task)
        return task.add_done_callback(self._warming.discard)

    async def _warm(self, cell: Cell) -> None:
        try:
            await cell.start()
        except NoStart as error:
            _log.warning("%s", error)
            await asyncio.sleep(RETRY_S)
        finally:
            self._line.give_back(cell)

    async def _watch(self) -> None:
        """End programs whose processes together have more memory than the limit."""
        while True:
            await asyncio.sleep(LOOK_S)
            for cell, asked in list(self._running.items()):
                found = cell.memory_bytes() if asked.chosen.processes > 1 else 0
                if cell in self._running and found > cell.most_bytes(asked.chosen):
                    cell.end(f"its processes had {found >> 20} MiB together")


async def usable(levels: Sequence[Level], preload: Sequence[str]) -> tuple[Level | None, list[str]]:
    """Return the first level at which a program runs on this machine, and why those before it do not work."""
    reasons = list[str]()
    for level in levels:
        cell = Cell(level, preload)
        try:
            await cell.start()
            leaks = self_test.leaks(level, await cell.run(self_test.asked()))
        except NoStart as error:
            leaks = [str(error)]
        finally:
            await cell.kill()
        if not leaks:
            return level, reasons
        reasons.append(f"{level}: {'; '.join(leaks)}")
    return None, reasons
