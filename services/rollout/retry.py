"""Asks a service or a store again until it answers, and records in the database what a group waits for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn, TypeVar

import grpc
from psycopg import OperationalError

from hone.process.memory import MemoryEnd
from hone.rpc import errors
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.store.objects import ObjectMissing
from services.rollout.batcher import Batcher, Unanswered
from services.rollout.claims import Claim, ClaimLost, Claims

Answer = TypeVar("Answer")
Reason = tuple[Claim, str | None]
"""Reason for which a group waits; None: it waits no longer."""
_log = logging.getLogger(__name__)
FIRST_PAUSE_S = 0.1
_INVALID = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND,
            grpc.StatusCode.DATA_LOSS)


class Unavailable(Exception):
    """Something that a group needs is not there yet. The message names it."""


AWAY = (grpc.aio.AioRpcError, OperationalError, OSError, ObjectMissing, Unanswered, Unavailable)
"""Errors that pass by themselves, or that an operator can mend while the group waits."""


class Retry:
    """Repeats a request until it is answered, and keeps `groups.reason` up to date meanwhile."""

    def __init__(self, database: AsyncDatabase, settings: Settings, claims: Claims) -> None:
        self._database, self._settings, self._claims = database, settings, claims
        self._reasons: Batcher[Reason, None] = Batcher(self._write_reasons, calls=1)
        self._reminders: set[asyncio.Task[None]] = set()

    async def until_answered(self, claim: Claim, source: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Call `ask` until it returns, and return its answer. Raises ClaimLost when the group is no longer ours.

        `source` is the name of the asked service or store in the group's reason. The reason is recorded when an
        attempt fails, and when the first attempt takes longer than a lease or half of the time to the group's deadline.
        """
        loop = asyncio.get_running_loop()
        silent_s = min(self._settings.lease_s, claim.left_s / 2)
        late = loop.call_later(silent_s, self._remind, claim, f"waiting for {source}: no answer yet")
        try:
            answer, failed = await self._repeat(claim, source, ask)
        finally:
            late.cancel()
        if failed or loop.time() > late.when():
            await self._record(claim, None)
        return answer

    async def _repeat(self, claim: Claim, source: str, ask: Callable[[], Awaitable[Answer]]) -> tuple[Answer, bool]:
        """Return the answer, and whether an attempt failed before it.

        An invalid request refuses the group. One during which the memory of the asked process was over is not repeated.
        """
        pause_s, recorded = FIRST_PAUSE_S, ""
        while True:
            try:
                return await ask(), bool(recorded)
            except AWAY as error:
                if end := errors.memory_end(error):
                    await self._blame(claim, end)
                if invalid(error):
                    await self.refuse(claim, f"{source} refuses: {describe(error)}")
                reason = f"waiting for {source}: {describe(error)}"
            if reason != recorded:
                await self._record(claim, reason)
                recorded = reason
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, max(FIRST_PAUSE_S, self._settings.sweep_s))
            if not self._claims.holds(claim):
                raise ClaimLost

    async def refuse(self, claim: Claim, reason: str) -> NoReturn:
        """Record that no attempt can succeed. The driver then drops the group, or fails the run, with this reason.

        Raises ClaimLost: the group is no longer ours.
        """
        _log.error(reason, extra={"fields": {"group_id": claim.id}})
        async with self._database.transaction() as transaction:
            await transaction.run("groups.refuse", group_id=claim.id, attempt=claim.attempt, reason=reason)
            await transaction.run("server.notify", channel="groups", payload=claim.run_id)
        raise ClaimLost

    async def _blame(self, claim: Claim, end: MemoryEnd) -> NoReturn:
        """Record that the asked process ended because its memory was over. A group does that twice at most.

        Raises ClaimLost: the group is no longer ours.
        """
        try:
            await self._claims.blame(claim, end)
        except OperationalError as error:
            _log.warning("cannot record that a process ended: %s", error, extra={"fields": {"group_id": claim.id}})
        raise ClaimLost

    def _remind(self, claim: Claim, reason: str) -> None:
        task = asyncio.create_task(self._record(claim, reason))
        self._reminders.add(task)
        task.add_done_callback(self._reminders.discard)

    async def _record(self, claim: Claim, reason: str | None) -> None:
        try:
            await self._reasons.ask((claim, reason))
        except OperationalError as error:
            _log.warning("cannot record a reason: %s", error, extra={"fields": {"group_id": claim.id}})

    async def _write_reasons(self, reasons: list[Reason]) -> AsyncIterator[tuple[int, None]]:
        for reason in sorted({reason for _, reason in reasons if reason}):
            groups = [claim.id for claim, why in reasons if why == reason]
            _log.warning(reason, extra={"fields": {"group_ids": groups}})
        await self._database.run("groups.set_reason", group_ids=[claim.id for claim, _ in reasons],
                                 attempts=[claim.attempt for claim, _ in reasons], reasons=[why for _, why in reasons])
        for place in range(len(reasons)):
            yield place, None


def describe(error: BaseException) -> str:
    """Return an error in one line for a group's owner; a gRPC error as `CODE: details`."""
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {errors.reason(error)}"
    return f"{type(error).__name__}: {error}".splitlines()[0]


def invalid(error: Exception) -> bool:
    """Return whether the request itself is wrong, so that it would fail again; of a batch, one item may be wrong.

    A batch may also be longer than a message can be.
    """
    return isinstance(error, grpc.aio.AioRpcError) and (error.code() in _INVALID or errors.too_long(error))
