"""Who writes in benchmarks.ingest: our rollout worker's storing, and a raw writer of the same rows and files."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from psycopg import Connection, sql

from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import AsyncDatabase
from hone.store.sql import named
from hone.trajectory import journal, parts
from hone.trajectory.records import Call, Step, Trajectory, Turn, VersionSpan
from services.rollout.calls import Journal
from services.rollout.claims import Claim, Claims
from services.rollout.groups import GradedGroup, Store
from services.rollout.retry import Retry

SAMPLES, TOKENS, WAVE = 8, 64, 32
"""Of a group; of a completion; groups that are stored together."""
SQL = named(Path(__file__).with_name("ingest.sql").read_text())


@dataclass(frozen=True)
class Target:
    """Where is written to."""

    database_url: str
    objects_url: str


@dataclass(frozen=True)
class Prepare:
    """Get ready to write so many groups of a run, or the parts that ours wrote, with the journal's rows or without."""

    run_id: str
    groups: int = 0
    parts: Sequence[str] = ()
    journal: bool = False


@dataclass(frozen=True)
class Write:
    """Write what was prepared."""


Job = Prepare | Write
Rows = list[tuple[object, ...]]


class Storing:
    """The rollout worker's own way: journal, Parquet part, rows; claims are taken to prepare."""

    def __init__(self, target: Target) -> None:
        self._loop = asyncio.Runner()
        self._waiting: list[GradedGroup] = []
        self._loop.run(self._open(target))

    async def _open(self, target: Target) -> None:
        settings = Settings(database_url=target.database_url, objects_url=target.objects_url, lease_s=3600)
        self._database = AsyncDatabase(target.database_url)
        await self._database.open()
        self._claims = Claims(self._database, settings)
        self._journal = Journal(self._database)
        self._store = Store(self._database, objects.connect(target.objects_url),
                            Retry(self._database, settings, self._claims))

    def __call__(self, job: Job) -> None:
        self._loop.run(self._prepare(job) if isinstance(job, Prepare) else self._write())

    def close(self) -> None:
        """Hang up."""
        self._loop.run(self._database.close())
        self._loop.close()

    async def _prepare(self, job: Prepare) -> None:
        self._waiting = [_graded(claim) for claim in await self._claims.take(job.groups)]

    async def _write(self) -> None:
        for first in range(0, len(self._waiting), WAVE):
            wave = self._waiting[first : first + WAVE]
            await asyncio.gather(*(self._journal.keep(one.claim, _turns(one)) for one in wave))
            await self._store.keep(wave)
            self._claims.let_go(one.claim for one in wave)


@dataclass(frozen=True)
class Wave:
    """What raw writers write of one part of ours."""

    file: bytes
    groups: Rows
    trajectories: Rows
    journal: Rows


class Raw:
    """COPY of what ours left in the tables, and a write of its files, each wave one transaction."""

    def __init__(self, target: Target) -> None:
        self._connection = Connection.connect(target.database_url)
        self._objects = objects.connect(target.objects_url)
        self._waves: list[Wave] = []

    def __call__(self, job: Job) -> None:
        if isinstance(job, Write):
            self._write()
        else:
            with self._connection.transaction():
                self._waves = [self._wave(job, part) for part in job.parts]

    def _wave(self, job: Prepare, part: str) -> Wave:
        file = self._objects.get(part)
        return Wave(file, self._rows("groups_out", job.run_id, part), self._rows("trajectories_out", job.run_id, part),
                    _journal_rows(parts.decode(file)) if job.journal else [])

    def _rows(self, name: str, run_id: str, part: str) -> Rows:
        query = sql.SQL(SQL[name]).format(run_id=sql.Literal(run_id), part=sql.Literal(part))
        with self._connection.cursor() as cursor, cursor.copy(query) as copy:
            return list(copy.rows())

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _write(self) -> None:
        for wave in self._waves:
            if wave.journal:
                with self._connection.transaction():
                    self._copy("journal_in", wave.journal)
            self._objects.put(f"raw/{random.getrandbits(64):x}", wave.file)
            with self._connection.transaction():
                self._copy("groups_in", wave.groups)
                self._copy("trajectories_in", wave.trajectories)
                if wave.journal:
                    self._connection.execute(
                        SQL["forget_journal"].encode(), {"group_ids": list({row[0] for row in wave.journal})})

    def _copy(self, name: str, rows: Rows) -> None:
        with self._connection.cursor() as cursor, cursor.copy(SQL[name].encode()) as copy:
            for row in rows:
                copy.write_row(row)


def _graded(claim: Claim) -> GradedGroup:
    chance = random.Random(claim.id)
    return GradedGroup(claim, [_trajectory(claim, index, chance) for index in range(claim.order.n)], [])


def _trajectory(claim: Claim, index: int, chance: random.Random) -> Trajectory:
    order = claim.order
    ids = [4 + chance.randrange(10) for _ in range(TOKENS)]
    call = Call(
        index=0, prompt_ids=[23, 4, 5, 6, 7, 8, 9, 20], completion_ids=ids,
        logp_sample=[chance.uniform(-3, 0) for _ in ids], finish_reason="length",
        versions=[VersionSpan(order.version_id or "", TOKENS)], text="".join(str(one - 4) for one in ids),
        train_mask=[True] * TOKENS, sampling=order.sampling, engine='native {"torch": "2.13.0"}')
    step = Step(index=0, call=0, action=call.text, said=[], observation_hash="9f86d081884c7d65",
                state_hash="60303ae22b998861", valid=True, reward=1.0)
    return Trajectory(
        group_id=claim.id, index=index, request_no=order.request_no, task=order.task, task_hash=order.task_hash,
        item={"prompt": "s012345=", "answer": "012345"}, calls=[call], steps=[step], status="ok",
        score=float(index % 2), grade_id=claim.id * SAMPLES + index)


def _journal_rows(stored: list[Trajectory]) -> Rows:
    groups: dict[int, dict[int, Turn]] = {}
    for one in stored:
        groups.setdefault(one.group_id, {})[one.index] = Turn(one.calls[0], one.steps)
    return [(group_id, min(turns), 0, 1, journal.encode(turns)) for group_id, turns in groups.items()]


def _turns(graded: GradedGroup) -> dict[int, Turn]:
    return {one.index: Turn(one.calls[0], one.steps) for one in graded.trajectories}
