"""Many single questions asked at about the same time become few calls that answer all of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Generic, NamedTuple, TypeVar

from hone.telemetry import logs, tracing

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Asked(NamedTuple, Generic[Item, Answer]):
    """An item, who waits for its answer, what for, and where in a trace that is."""

    item: Item
    future: asyncio.Future[Answer]
    subject: logs.Subject
    place: tracing.Place | None


Waiting = list[Asked[Item, Answer]]


class Unanswered(RuntimeError):
    """The call that should have answered this item ended without doing so."""


class Batcher(Generic[Item, Answer]):
    """Collects items while earlier calls run, and hands them on together.

    `answer` takes the items of one batch and yields (place in the batch, answer) in any order. At most `calls` of it
    run at a time: what comes meanwhile waits and goes together. When it raises, whoever waits for an item without an
    answer gets the error; where `split` says that the error may be one item's fault, each is asked again alone.
    """

    def __init__(self, answer: Callable[[list[Item]], AsyncIterator[tuple[int, Answer]]], *, calls: int = 1_000_000,
                 split: Callable[[Exception], bool] | None = None) -> None:
        self._answer, self._split = answer, split
        self._room = asyncio.Semaphore(calls)
        self._waiting: Waiting[Item, Answer] = []
        self._running: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return not self._waiting and not self._running

    async def ask(self, item: Item) -> Answer:
        """Return the answer to `item`. Raises what its call raised, or Unanswered."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append(Asked(item, future, logs.subject(), tracing.here()))
        if len(self._waiting) == 1:
            task = asyncio.create_task(self._flush())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return await future

    def abandon(self, reason: str) -> None:
        """Stop everything that runs or waits; whoever asked gets Unanswered with this reason."""
        waiting, self._waiting = self._waiting, []
        _settle(waiting, Unanswered(reason))
        for task in self._running:
            task.cancel(msg=reason)

    async def _flush(self) -> None:
        await asyncio.sleep(0)  # whoever was woken with the first one asks first
        async with self._room:
            batch = [asked for asked in self._waiting if not asked.future.done()]
            self._waiting = []
            if batch:
                await self._call(batch)

    async def _call(self, batch: Waiting[Item, Answer]) -> None:
        call = asyncio.ensure_future(self._collect(batch))
        _end_when_unwanted(call, batch)
        try:
            await call
        except asyncio.CancelledError as reason:
            _settle(batch, Unanswered(str(reason)))
        except Exception as error:
            left = [asked for asked in batch if not asked.future.done()]
            if len(left) > 1 and self._split is not None and self._split(error):
                await asyncio.gather(*(self._call([asked]) for asked in left))
            _settle(left, error)
        _settle(batch, Unanswered("the call ended without an answer to this"))

    async def _collect(self, batch: Waiting[Item, Answer]) -> None:
        with (logs.about_all([asked.subject for asked in batch]),
              tracing.together([asked.place for asked in batch])):
            async for place, answer in self._answer([asked.item for asked in batch]):
                if not batch[place].future.done():
                    batch[place].future.set_result(answer)


def _end_when_unwanted(call: asyncio.Future[None], batch: Waiting[Item, Answer]) -> None:
    """Cancel `call` once nobody waits for it any more and somebody gave up waiting."""
    left, given_up = len(batch), False

    def one_done(future: asyncio.Future[Answer]) -> None:
        nonlocal left, given_up
        left, given_up = left - 1, given_up or future.cancelled()
        if given_up and not left:
            call.cancel()

    for asked in batch:
        asked.future.add_done_callback(one_done)


def _settle(batch: Waiting[Item, Answer], error: Exception) -> None:
    for asked in batch:
        if not asked.future.done():
            asked.future.set_exception(error)
