"""The rollout worker: it claims groups, runs each one as a coroutine, and stores the groups that have finished."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

import grpc
from opentelemetry.trace import SpanKind
from psycopg import OperationalError
from psycopg.types.json import Jsonb

from hone.api import simulation_pb2
from hone.process import ending
from hone.process.memory import MemoryEnd
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import AsyncDatabase
from hone.telemetry import logs, metrics, tracing
from services.rollout.claims import Claim, ClaimLost, Claims
from services.rollout.groups import GradedGroup, Groups, Store
from services.rollout.retry import AWAY, Retry, describe

RunningGroup = asyncio.Task[GradedGroup | None]

MOST_ATTEMPTS = 6
"""Attempts after which a group that fails is refused, about a minute after the first one."""
SOON_S = 0.2
"""Longest wait before finished groups are stored, where training may go on with them before their step is complete."""

_log = logging.getLogger(__name__)


class Worker:
    """The claims, channels and connections of one process. It lives on one running loop; make it with `open`."""

    def __init__(self, settings: Settings, database: AsyncDatabase, store: objects.Objects) -> None:
        self._settings, self._database = settings, database
        self._claims = Claims(database, settings)
        retry = Retry(database, settings, self._claims)
        self._groups = Groups(database, store, settings, retry)
        self._store = Store(database, store, retry)
        self._closing = False
        self._working: set[asyncio.Task[None]] = set()
        self._background: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, settings: Settings) -> "Worker":
        """Connect as the settings say. If the database is away, the worker waits for it when it needs it."""
        database = AsyncDatabase(settings.database_url)
        await database.open()
        worker = cls(settings, database, await asyncio.to_thread(objects.connect, settings.objects_url))
        worker._start(worker._background, worker._claims.renew_forever())
        worker._start(worker._background, worker._groups.engines.watch_forever())
        return worker

    async def resume(self) -> None:
        """Release the claims of an earlier process of this name, then work without waiting for a hint."""
        await asyncio.wait([self._start(self._working, self._resume())])

    async def work(self, hint: object = None) -> None:
        """Claim groups and finish them until none is claimable, or the worker closes. Never raises.

        `hint` is the trace context of the hint that woke the worker, if there is one.
        """
        await asyncio.wait([self._start(self._working, self._work(hint))])

    def blame(self, end: MemoryEnd) -> None:
        """Record on the groups in work that this process ends because its memory is over. Raises psycopg.Error."""
        self._claims.blame_all(end)

    async def close(self) -> None:
        """Stop working, release every claim, and close all connections."""
        self._closing = True
        await ending.cancelled([*self._working, *self._background])
        try:
            await self._claims.leave()
        except OperationalError as error:
            _log.warning("the worker's row cannot be deleted: %s", error)
        await self._groups.close()
        await self._database.close()

    def _start(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(_logged(work))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    async def _resume(self) -> None:
        while True:
            try:
                await self._claims.release_predecessor()
                break
            except OperationalError as error:
                _log.warning("cannot resume: %s", error)
                await asyncio.sleep(self._settings.sweep_s)
        await self._work()

    async def _work(self, hint: object = None) -> None:
        """Run groups beside each other. Store finished groups every while, and claim more when half have finished."""
        most, running = self._settings.claim_groups, dict[RunningGroup, Claim]()
        try:
            while not self._closing:
                if len(running) <= most // 2:
                    running |= {self._run(claim): claim for claim in await self._take(most - len(running), hint)}
                    hint = None
                if not running:
                    break
                done = await self._finished(running)
                await self._keep([graded for task in done if (graded := task.result()) is not None])
                await self._release([running.pop(task) for task in done], 0)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await self._release(running.values(), 0)

    async def _finished(self, running: Mapping[RunningGroup, Claim]) -> list[RunningGroup]:
        """Return finished groups: once all of a run have finished, or after a while those that have until then."""
        of_runs = defaultdict[str, list[RunningGroup]](list)
        for task, claim in running.items():
            of_runs[claim.run_id].append(task)
        waits = [asyncio.ensure_future(asyncio.wait(tasks)) for tasks in of_runs.values()]
        try:
            await asyncio.wait(waits, timeout=self._wave_s(running.values()), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return [task for task in running if task.done()]

    def _wave_s(self, claims: Iterable[Claim]) -> float:
        """Return how long to collect finished groups. Groups of one version all wait for the last group of a step."""
        return self._settings.sweep_s if all(claim.order.version_id for claim in claims) else SOON_S

    async def _take(self, count: int, hint: object) -> list[Claim]:
        while True:
            try:
                with tracing.under(hint), tracing.span("claim", SpanKind.CONSUMER):
                    return await self._claims.take(count)
            except OperationalError as error:
                _log.warning("no group can be claimed: %s", error)
                await asyncio.sleep(self._settings.sweep_s)

    def _run(self, claim: Claim) -> RunningGroup:
        task = asyncio.create_task(self._attempt(claim))
        self._claims.work(claim, task)
        return task

    async def _attempt(self, claim: Claim) -> GradedGroup | None:
        """Run one group. Return None if the claim was lost or the attempt failed; other groups are not affected."""
        with logs.about(**claim.subject), tracing.under(claim.order.traceparent):
            try:
                return await self._groups.run(claim)
            except (ClaimLost, TimeoutError):
                return None  # another worker has the group now, or the driver has it, because its deadline passed
            except asyncio.CancelledError:
                if self._claims.holds(claim):
                    raise
                return None
            except Exception as error:
                await self._fail([claim], error)
                return None

    async def _keep(self, wave: list[GradedGroup]) -> None:
        if not wave:
            return
        claims = [graded.claim for graded in wave]
        try:
            await self._store.keep(wave)
        except ClaimLost:
            _log.info("groups were finished too late", extra={"fields": {"group_ids": [claim.id for claim in claims]}})
        except Exception as error:
            await self._fail(claims, error)
        self._claims.let_go(claims)
        with logs.about_all([claim.subject for claim in claims]):
            self._start(self._background, self._forget([session for graded in wave for session in graded.sessions]))

    async def _forget(self, sessions: list[simulation_pb2.Session]) -> None:
        try:
            await self._groups.forget(sessions)
        except grpc.aio.AioRpcError as error:
            _log.info("sessions end by their time to live: %s", describe(error))

    async def _fail(self, claims: list[Claim], error: Exception) -> None:
        """Record why an attempt failed and release its claims; each further attempt comes later than the one before."""
        metrics.GROUPS_FAILED.inc(len(claims))
        _log.error("groups failed", exc_info=error, extra={"fields": {
            "group_ids": [claim.id for claim in claims], "run_ids": sorted({claim.run_id for claim in claims})}})
        try:
            await self._record_failure(claims, describe(error))
            if not isinstance(error, AWAY):
                await self._refuse([claim for claim in claims if claim.attempt >= MOST_ATTEMPTS], describe(error))
        except OperationalError as away:
            _log.warning("cannot record the failure: %s", away)
        await self._release(claims, self._settings.sweep_s * min(2 ** max(claim.attempt for claim in claims), 60))

    async def _refuse(self, claims: list[Claim], reason: str) -> None:
        """Refuse groups that failed again and again, though nothing that they need was away."""
        async with self._database.transaction() as transaction:
            for claim in claims:
                await transaction.run("groups.refuse", group_id=claim.id, attempt=claim.attempt,
                                      reason=f"{claim.attempt} attempts failed, the last one with {reason}")
                await transaction.run("server.notify", channel="groups", payload=claim.run_id)

    async def _record_failure(self, claims: list[Claim], reason: str) -> None:
        async with self._database.transaction() as transaction:
            await transaction.run(
                "groups.set_reason", group_ids=[claim.id for claim in claims],
                attempts=[claim.attempt for claim in claims], reasons=[reason] * len(claims))
            for claim in claims:
                await transaction.run(
                    "events.add", tenant_id=claim.tenant_id, run_id=claim.run_id, kind="rollout.failed",
                    message=f"{claim.order.request}, attempt {claim.attempt}: {reason}",
                    data=Jsonb({"group_id": claim.id, "attempt": claim.attempt}))

    async def _release(self, claims: Iterable[Claim], delay_s: float) -> None:
        try:
            await self._claims.release(claims, delay_s)
        except OperationalError as error:
            _log.warning("claims cannot be released and will expire: %s", error)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    """Log an exception that ends background work."""
    try:
        await work
    except Exception:
        _log.exception("rollout work ended")
