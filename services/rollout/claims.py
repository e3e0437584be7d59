"""The groups that this worker has claimed: it renews its claims while it works, and stops work when one is lost."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection, OperationalError
from psycopg.rows import dict_row
from pydantic import ValidationError

from hone.crashpoints import reach
from hone.ids import new
from hone.process.heartbeat import AsyncHeartbeat, interval_s
from hone.process.memory import MemoryEnd
from hone.spec.findings import first
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase, Row, Statements
from hone.telemetry import logs, metrics
from hone.trajectory import journal
from hone.trajectory.order import Order
from hone.trajectory.records import Turn

_log = logging.getLogger(__name__)
SHARES = 2
"""Hints whose groups may all be of one tenant. A process works on more hints at a time (services.rollout.__main__)."""


@dataclass(frozen=True)
class AnsweringModel:
    """The model that answers a role's calls. Without `version_id` its newest version does, from `min_version` on."""

    model_id: str
    version_id: str | None
    min_version: int = 0


@dataclass(frozen=True)
class Claim:
    """A group that this worker holds, with its order. Every write for the group names `attempt`: it is the fence."""

    id: int
    attempt: int
    tenant_id: str
    run_id: str
    order: Order
    begun: int | None  # where the order names no version: the number of the oldest version that may sample
    role_versions: dict[str, str]  # version 0 of each role's model, by role; a role is missing until that is published
    remaining_s: float  # to the group's deadline, when it was claimed
    memory_ends: int = 0  # processes that worked on it when their memory was over; from one on it runs alone
    claimed: float = field(default_factory=time.monotonic, compare=False)
    waves: list[int] = field(default_factory=list)  # sizes of those after the first, as an earlier claim recorded them
    journaled: dict[tuple[int, str], Turn] = field(default_factory=dict, compare=False)  # by (sample, call)

    @property
    def left_s(self) -> float:
        """Seconds to the group's deadline; 0 after it."""
        return max(0.0, self.claimed + self.remaining_s - time.monotonic())

    def answering(self, role: str) -> AnsweringModel:
        """Return the model that answers for a role: the one that the run names for it, or else the policy."""
        order = self.order
        if role in order.asked:
            return AnsweringModel(order.asked[role].model_id, self.role_versions.get(role))
        return AnsweringModel(order.model_id, order.version_id, 0 if order.version_id else self.begun or 0)

    def room(self, role: str, most: int) -> int:
        """Return how many tokens a role's prompt and answer may have: `most`, or its own model's positions if fewer."""
        model = self.order.asked.get(role, self.order)
        return min(most, model.max_positions or most)

    @property
    def subject(self) -> logs.Subject:
        """Fields of every log line about the group."""
        return {"tenant_id": self.tenant_id, "run_id": self.run_id, "group_id": self.id, "step": self.order.step}


class ClaimLost(Exception):
    """Another worker has claimed the group, or nobody waits for it any more."""


class Claims:
    """All claims of this process."""

    def __init__(self, database: AsyncDatabase, settings: Settings) -> None:
        self._database, self._settings = database, settings
        self._owner = settings.process_name or new("rollout")
        self._heartbeat = AsyncHeartbeat(database, "rollout", self._owner)
        self._held: dict[int, Claim] = {}
        self._working: dict[int, asyncio.Task[Any]] = {}
        self._taking = asyncio.Lock()

    def blame_all(self, end: MemoryEnd) -> None:
        """Record that this process ends because its memory is over, on the groups that it holds. Any thread may ask.

        Raises psycopg.Error.
        """
        with _connected(self._settings.database_url) as connection:
            Statements(connection).run(
                "groups.blame", **_keys(list(self._held.values())), process=end.kind, why=end.why)

    async def blame(self, claim: Claim, end: MemoryEnd) -> None:
        """Record on a group that a process ended because its memory was over, and let the group go.

        Raises psycopg.OperationalError.
        """
        if self.holds(claim):  # several samples of it may have been in work
            self.let_go([claim])
            await self._database.run("groups.blame", **_keys([claim]), process=end.kind, why=end.why)

    async def release_predecessor(self) -> None:
        """Let any worker claim the groups of an earlier process of this name."""
        await self._database.run("groups.release_claims_of", owner=self._owner)

    async def take(self, count: int) -> list[Claim]:
        """Claim up to `count` groups and return them with the calls that earlier attempts journaled.

        Of one tenant this process holds at most SHARES times HONE_CLAIM_GROUPS groups, however slow they are.
        A group that a process with too much memory worked on is claimed alone, and nothing is claimed beside it.
        If the journal cannot be read any more, this raises psycopg.OperationalError, and the new claims expire.
        """
        async with self._taking:
            return await self._take(count)

    async def _take(self, count: int) -> list[Claim]:
        if any(claim.memory_ends for claim in self._held.values()):
            return []
        held = Counter(claim.tenant_id for claim in self._held.values())
        rows = await self._database.all(
            "groups.claim", owner=self._owner, count=count, lease_s=self._settings.lease_s, tenants=list(held),
            holds=list(held.values()), most=SHARES * self._settings.claim_groups)
        again = [row["id"] for row in rows if row["attempt"] > 1]
        calls = await self._database.all("journal.calls", group_ids=again) if again else []
        claims = _claims(await self._readable(rows), calls)
        for claim in claims:
            self._lose(self._held.get(claim.id))  # our own claim that expired
            self._held[claim.id] = claim
        metrics.GROUPS_CLAIMED.inc(len(claims))
        if claims:
            reach("claim.after")
        return claims

    def holds(self, claim: Claim) -> bool:
        """Return whether the claim is still ours as far as this process knows. Each write checks it in the database."""
        return self._held.get(claim.id) is claim

    def work(self, claim: Claim, task: "asyncio.Task[Any]") -> None:
        """Cancel `task` if the claim is lost."""
        self._working[claim.id] = task

    def let_go(self, claims: Iterable[Claim]) -> None:
        """Stop renewing these claims."""
        for claim in claims:
            if self.holds(claim):
                del self._held[claim.id]
                self._working.pop(claim.id, None)

    async def release(self, claims: Iterable[Claim], delay_s: float = 0.0) -> None:
        """Let any worker claim these groups after `delay_s` seconds."""
        ours = [claim for claim in claims if self.holds(claim)]
        self.let_go(ours)
        if ours:
            await self._database.run("groups.release_claims", delay_s=delay_s, **_keys(ours))

    async def renew_forever(self) -> None:
        """Report that this worker is alive and renew every claim, three times in each lease, until cancelled."""
        while True:
            try:
                await self._heartbeat.beat()
                await self._renew(list(self._held.values()))
            except OperationalError as error:
                _log.warning("claims not renewed: %s", error)
            await asyncio.sleep(interval_s(self._settings.lease_s))

    async def leave(self) -> None:
        """Delete this worker's row. Raises psycopg.OperationalError."""
        await self._heartbeat.leave()

    async def _readable(self, rows: list[Row]) -> list[Row]:
        """Return the rows with their orders decoded. A group whose order cannot be read is refused with the reason."""
        readable = []
        for row in rows:
            try:
                readable.append({**row, "order": Order.model_validate(row["order"])})
            except ValidationError as error:
                wrong = first(error, "order")
                reason = f"{wrong.field}: expected {wrong.expected}"
                _log.error(reason, extra={"fields": {"group_id": row["id"]}})
                await self._database.run(
                    "groups.refuse", group_id=row["id"], attempt=row["attempt"], reason=reason)
        return readable

    async def _renew(self, claims: list[Claim]) -> None:
        if not claims:
            return
        rows = await self._database.all("groups.renew_claims", lease_s=self._settings.lease_s, **_keys(claims))
        kept = {row["id"] for row in rows}
        for claim in claims:
            if claim.id not in kept and self.holds(claim):
                self._lose(claim)

    def _lose(self, claim: Claim | None) -> None:
        if claim is None:
            return
        metrics.CLAIMS_LOST.inc()
        _log.info("claim lost", extra={"fields": {"group_id": claim.id, "attempt": claim.attempt}})
        task = self._working.get(claim.id)
        self.let_go([claim])
        if task is not None:
            task.cancel()


def _connected(url: str) -> Connection[Row]:
    return Connection.connect(url, connect_timeout=5, autocommit=True, row_factory=dict_row)


def _keys(claims: Iterable[Claim]) -> dict[str, list[int]]:
    held = list(claims)
    return {"group_ids": [claim.id for claim in held], "attempts": [claim.attempt for claim in held]}


def _claims(rows: list[Row], calls: list[Row]) -> list[Claim]:
    journaled: dict[int, dict[tuple[int, str], Turn]] = {}
    for row in calls:
        try:
            turns = journal.decode(row["body"])
            journaled.setdefault(row["group_id"], {}).update({(index, row["call"]): turns[index] for index in turns})
        except journal.JournalError as error:
            _log.warning("a journaled call cannot be read and is made again: %s", error,
                         extra={"fields": {"group_id": row["group_id"]}})
    return [Claim(**row, journaled=journaled.get(row["id"], {})) for row in sorted(rows, key=lambda row: row["id"])]
