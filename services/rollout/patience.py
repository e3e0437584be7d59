"""Waiting for what is away: asking again and again, with the reason where a person can read it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn, TypeVar

import grpc
from psycopg import OperationalError

from hone.rpc import errors
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.store.objects import ObjectMissing
from services.rollout.batcher import Batcher, Unanswered
from services.rollout.claims import Claim, ClaimLost, Claims

Answer = TypeVar("Answer")
Told = tuple[Claim, str | None]
_log = logging.getLogger(__name__)
FIRST_PAUSE_S = 0.1
_ABOUT_AN_ITEM = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND,
                  grpc.StatusCode.DATA_LOSS)


class Unavailable(Exception):
    """What is needed is not there yet; the message says what."""


AWAY = (grpc.aio.AioRpcError, OperationalError, OSError, ObjectMissing, Unanswered, Unavailable)
"""What passes by itself or by a person's hand, so that it is worth asking again."""


class Patience:
    """Asks until there is an answer, and keeps `groups.reason` at what a group waits for."""

    def __init__(self, database: AsyncDatabase, settings: Settings, claims: Claims) -> None:
        self._database, self._settings, self._claims = database, settings, claims
        self._reasons: Batcher[Told, None] = Batcher(self._record, calls=1)
        self._reminders: set[asyncio.Task[None]] = set()

    async def keep(self, claim: Claim, source: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return what `ask` returns, once it does. Raises ClaimLost when the group is no longer ours.

        The reason names `source`; it is recorded when an attempt fails or lasts longer than a lease, and before the
        group's deadline ends it.
        """
        loop = asyncio.get_running_loop()
        patient_s = min(self._settings.lease_s, claim.left_s / 2)
        late = loop.call_later(patient_s, self._remind, claim, f"waiting for {source}: no answer yet")
        try:
            answer, failed = await self._insist(claim, source, ask)
        finally:
            late.cancel()
        if failed or loop.time() > late.when():
            await self._tell(claim, None)
        return answer

    async def _insist(self, claim: Claim, source: str, ask: Callable[[], Awaitable[Answer]]) -> tuple[Answer, bool]:
        """Return the answer and whether it took more than one attempt. A refusal for good gives the group up."""
        pause_s, told = FIRST_PAUSE_S, ""
        while True:
            try:
                return await ask(), bool(told)
            except AWAY as error:
                if invalid(error):
                    await self.refuse(claim, f"{source} refuses: {describe(error)}")
                reason = f"waiting for {source}: {describe(error)}"
            if reason != told:
                await self._tell(claim, reason)
                told = reason
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, max(FIRST_PAUSE_S, self._settings.sweep_s))
            if not self._claims.holds(claim):
                raise ClaimLost

    async def refuse(self, claim: Claim, reason: str) -> NoReturn:
        """Record that asking again cannot help: the driver drops the group, or fails the run, with this reason.

        Raises ClaimLost: the group is no longer ours.
        """
        _log.error(reason, extra={"fields": {"group_id": claim.id}})
        async with self._database.transaction() as transaction:
            await transaction.run("groups.refuse", group_id=claim.id, attempt=claim.attempt, reason=reason)
            await transaction.run("server.notify", channel="groups", payload=claim.run_id)
        raise ClaimLost

    def _remind(self, claim: Claim, reason: str) -> None:
        task = asyncio.create_task(self._tell(claim, reason))
        self._reminders.add(task)
        task.add_done_callback(self._reminders.discard)

    async def _tell(self, claim: Claim, reason: str | None) -> None:
        try:
            await self._reasons.ask((claim, reason))
        except OperationalError as error:
            _log.warning("cannot record a reason: %s", error, extra={"fields": {"group_id": claim.id}})

    async def _record(self, told: list[Told]) -> AsyncIterator[tuple[int, None]]:
        for reason in sorted({reason for _, reason in told if reason}):
            groups = [claim.id for claim, why in told if why == reason]
            _log.warning(reason, extra={"fields": {"group_ids": groups}})
        await self._database.run("groups.set_reason", group_ids=[claim.id for claim, _ in told],
                                 attempts=[claim.attempt for claim, _ in told], reasons=[why for _, why in told])
        for place in range(len(told)):
            yield place, None


def describe(error: BaseException) -> str:
    """Return an error in one line, for whoever the group is: a gRPC status as CODE: details."""
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {errors.reason(error)}"
    return f"{type(error).__name__}: {error}".splitlines()[0]


def invalid(error: Exception) -> bool:
    """Whether a batch was refused for what stood in it, so that its other items deserve a call without that one."""
    return isinstance(error, grpc.aio.AioRpcError) and error.code() in _ABOUT_AN_ITEM
