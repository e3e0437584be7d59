"""Joins small requests that are made at about the same time into few calls."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Generic, NamedTuple, TypeVar

from hone.telemetry import logs, tracing

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class PendingItem(NamedTuple, Generic[Item, Answer]):
    """An item that waits for its answer, with the log fields and the position in a trace of whoever asked."""

    item: Item
    future: asyncio.Future[Answer]
    subject: logs.Subject
    place: tracing.Place | None


Batch = list[PendingItem[Item, Answer]]


class Unanswered(RuntimeError):
    """The call that should have answered this item ended without an answer to it."""


class Batcher(Generic[Item, Answer]):
    """Collects items while earlier calls run, and sends them together.

    `answer` takes the items of one batch and yields pairs (index in the batch, answer) in any order. At most `calls`
    batches run at a time. If `answer` raises an error, each item without an answer raises it too. If `split` returns
    True for that error, a single item may be at fault: each item without an answer is then sent again alone.
    """

    def __init__(self, answer: Callable[[list[Item]], AsyncIterator[tuple[int, Answer]]], *, calls: int = 1_000_000,
                 split: Callable[[Exception], bool] | None = None) -> None:
        self._answer, self._split = answer, split
        self._room = asyncio.Semaphore(calls)
        self._waiting: Batch[Item, Answer] = []
        self._running: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Whether no item waits and no call runs."""
        return not self._waiting and not self._running

    async def ask(self, item: Item) -> Answer:
        """Return the answer to `item`. Raises the error of its call, or Unanswered."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append(PendingItem(item, future, logs.subject(), tracing.here()))
        if len(self._waiting) == 1:
            task = asyncio.create_task(self._flush())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return await future

    def abandon(self, reason: str) -> None:
        """Stop all calls. Every item without an answer raises Unanswered with this reason."""
        waiting, self._waiting = self._waiting, []
        _fail(waiting, Unanswered(reason))
        for task in self._running:
            task.cancel(msg=reason)

    async def _flush(self) -> None:
        await asyncio.sleep(0)  # coroutines that were woken together with the first one add their items now
        async with self._room:
            batch = [pending for pending in self._waiting if not pending.future.done()]
            self._waiting = []
            if batch:
                await self._call(batch)

    async def _call(self, batch: Batch[Item, Answer]) -> None:
        call = asyncio.ensure_future(self._collect(batch))
        _cancel_when_unwanted(call, batch)
        try:
            await call
        except asyncio.CancelledError as reason:
            _fail(batch, Unanswered(str(reason)))
        except Exception as error:
            left = [pending for pending in batch if not pending.future.done()]
            if len(left) > 1 and self._split is not None and self._split(error):
                await asyncio.gather(*(self._call([pending]) for pending in left))
            _fail(left, error)
        _fail(batch, Unanswered("the call ended without an answer to this"))

    async def _collect(self, batch: Batch[Item, Answer]) -> None:
        with (logs.about_all([pending.subject for pending in batch]),
              tracing.together([pending.place for pending in batch])):
            async for place, answer in self._answer([pending.item for pending in batch]):
                if not batch[place].future.done():
                    batch[place].future.set_result(answer)


def _cancel_when_unwanted(call: asyncio.Future[None], batch: Batch[Item, Answer]) -> None:
    """Cancel `call` as soon as no item needs an answer any more and at least one caller gave up waiting."""
    left, given_up = len(batch), False

    def one_done(future: asyncio.Future[Answer]) -> None:
        nonlocal left, given_up
        left, given_up = left - 1, given_up or future.cancelled()
        if given_up and not left:
            call.cancel()

    for pending in batch:
        pending.future.add_done_callback(one_done)


def _fail(batch: Batch[Item, Answer], error: Exception) -> None:
    """Raise `error` for each item that has no answer yet."""
    for pending in batch:
        if not pending.future.done():
            pending.future.set_exception(error)
