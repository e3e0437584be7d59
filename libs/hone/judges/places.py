"""Limits in time of one judge: how many questions are in progress, and how many begin in a minute."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hone.client.judge_resources import JudgeTerms
from hone.process.line import StillWaiting, Turn

_MINUTE_S = 60.0


class Places:
    """The places of a judge among its questions in progress. Terms may change between two questions."""

    def __init__(self) -> None:
        self._line, self._freed = asyncio.Lock(), asyncio.Event()
        self._open = 0
        self._begun = deque[float]()  # moments of the last minute

    @asynccontextmanager
    async def one(self, terms: JudgeTerms, turn: Turn) -> AsyncIterator[None]:
        """Hold a place; who came first is first. Raises StillWaiting when none is free within the turn's time."""
        try:
            async with asyncio.timeout(turn.wait_s), self._line:
                await self._take(terms)
        except TimeoutError:
            raise StillWaiting(f"the judge had no place for {turn.wait_s:.3g} s: {self._open} questions are in "
                               f"progress, {len(self._begun)} began in the last minute") from None
        try:
            yield
        finally:
            self._open -= 1
            self._freed.set()

    async def _take(self, terms: JudgeTerms) -> None:
        while self._open >= terms.at_once:
            self._freed.clear()
            await self._freed.wait()
        while pause_s := self._pause_s(terms):
            await asyncio.sleep(pause_s)
        self._open += 1
        self._begun.append(asyncio.get_running_loop().time())

    def _pause_s(self, terms: JudgeTerms) -> float:
        """Return the seconds until another question may begin."""
        now = asyncio.get_running_loop().time()
        while self._begun and self._begun[0] <= now - _MINUTE_S:
            self._begun.popleft()
        if not terms.per_minute or len(self._begun) < terms.per_minute:
            return 0.0
        return self._begun[-terms.per_minute] + _MINUTE_S - now
