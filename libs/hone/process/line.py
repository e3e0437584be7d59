"""The line before a pool: work waits for a free place, and tenants and their runs take turns."""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from hone.process.shares import FairShares, Owner

WAIT_S = 60.0
"""Most seconds that work waits for a place, unless it says otherwise."""
_LOOK_S = 0.25

Place = TypeVar("Place")


class StillWaiting(BaseException):
    """No place was free in time. The work is not done yet; the message says why.

    It is no Exception, so that nothing between takes it for a failure of what it asked for.
    """


class Words(NamedTuple):
    """The words of a reason, for people."""

    place: str
    work: str
    later: str  # a sentence


@dataclass(frozen=True)
class Turn:
    """Whose time the work uses, and how long it may wait for a place."""

    run: str = ""
    wait_s: float = WAIT_S
    tenant: str = ""
    key: str = ""  # that its use is counted to; empty: the one that requested the run
    anew: bool = False  # whether judges are asked what they have answered before
    seed: int = 0  # that is added to the seeds of questions to judges

    @property
    def owner(self) -> Owner:
        return Owner(self.tenant, self.run)


class Line(Generic[Place]):
    """Work that waits for a free place, by its owner."""

    def __init__(self, places: Iterable[Place], shares: FairShares, words: Words) -> None:
        """`places` are free now."""
        self.shares = shares
        self._words = words
        self._free = list(places)
        self._waiting: dict[Owner, deque[asyncio.Future[Place]]] = {}
        self._looking: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    async def take(self, turn: Turn) -> Place:
        """Return a free place when it is the owner's turn. Raises StillWaiting."""
        place: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(turn.owner, deque()).append(place)
        self._serve()
        try:
            async with asyncio.timeout(turn.wait_s):
                return await place
        except TimeoutError:
            self._leave(turn.owner, place)
            raise StillWaiting(self._reason(turn)) from None
        except BaseException:
            self._leave(turn.owner, place)
            raise

    def give_back(self, place: Place) -> None:
        """Let others have a place."""
        self._free.append(place)
        self._serve()

    def _leave(self, owner: Owner, place: "asyncio.Future[Place]") -> None:
        """Take a wait out of the line; a place that came at the end of the wait is free again."""
        if place in self._waiting.get(owner, ()):
            self._waiting[owner].remove(place)
        elif place.done() and not place.cancelled():
            self.give_back(place.result())

    def _serve(self) -> None:
        """Give free places to those whose turn it is; look again while there are both."""
        while self._free:
            self._waiting = {owner: places for owner, places in self._waiting.items() if places}
            owner = self.shares.next(self._waiting)
            if owner is None:
                break
            place = self._waiting[owner].popleft()
            if not place.done():
                place.set_result(self._free.pop())
        if self._free and self.waiting and self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._looking = None
        self._serve()

    def _reason(self, turn: Turn) -> str:
        used = self.shares.report(turn.owner, self._words.work)
        return (f"no {self._words.place} was free for {turn.wait_s:.3g} s: {used}. {self.waiting} other "
                f"{self._words.work} wait. {self._words.later}")
