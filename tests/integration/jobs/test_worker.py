"""The worker of jobs on a real database: attempts, pauses, giving up, lost leases, deleted subjects, and its end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from psycopg import OperationalError

from hone import ids
from hone.jobs.job import Again, Done, Failed, Job, Kind, Outcome
from hone.jobs.worker import MOST_TAKEDOWNS, Worker
from hone.store.database import AsyncDatabase, AsyncTransaction
from tests.integration.reward.rows import Run, make_run

LEASE_S = 1.2  # renewed each 0.1 s


@dataclass
class Bench:
    """A kind whose work is a function of the test, and the outcomes that were recorded."""

    database: AsyncDatabase
    run: Run
    name: str = field(default_factory=lambda: ids.new("kind"))
    seen: list[Job] = field(default_factory=list)
    recorded: list[Outcome] = field(default_factory=list)

    def add(self, subject: str, owner: str = "owner", due: str = "now()") -> None:
        self.run.do(f"INSERT INTO jobs (tenant_id, kind, subject, owner, due_at) VALUES (%s, %s, %s, %s, {due})",
                    self.run.tenant_id, self.name, subject, owner)

    def job(self) -> dict[str, Any] | None:
        rows = self.run.all("SELECT *, due_at <= now() AS due FROM jobs WHERE kind = %s ORDER BY id", self.name)
        return rows[0] if rows else None

    @asynccontextmanager
    async def worker(
        self, work: Callable[[Job], Awaitable[Outcome]], name: str = "worker", at_once: int = 4,
        pauses_s: tuple[float, ...] = (0.0, 0.0),
    ) -> AsyncIterator[Worker]:
        async def noted(job: Job) -> Outcome:
            self.seen.append(job)
            return await work(job)

        async def record(_: AsyncTransaction, __: Job, outcome: Outcome) -> None:
            self.recorded.append(outcome)

        worker = Worker(self.database, name, {self.name: Kind(noted, record, at_once, pauses_s)}, LEASE_S)
        async with worker.working():
            yield worker

    async def until(self, reached: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not reached():
                await asyncio.sleep(0.02)


def scene(play: Callable[[Bench], Awaitable[None]], worker_url: str, owner_url: str) -> None:
    async def played() -> None:
        database = AsyncDatabase(worker_url, size=4)
        await database.open()
        try:
            await play(Bench(database, make_run(owner_url)))
        finally:
            await database.close()

    asyncio.run(played())


Play = Callable[[Callable[[Bench], Awaitable[None]]], None]


@pytest.fixture
def play(postgres_url: str, postgres_owner_url: str) -> Play:
    return lambda wanted: scene(wanted, postgres_url, postgres_owner_url)


async def for_ever(_: Job) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def done(_: Job) -> Outcome:
    return Done("found")


async def crashing(_: Job) -> Outcome:
    raise ValueError("no such column")


async def busy(_: Job) -> Outcome:
    return Again("no place", after_s=0.0, counts=False)


def test_a_job_is_done_once_by_two_workers(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        for number in range(6):
            bench.add(f"s{number}")
        async with bench.worker(done, "one", at_once=2), bench.worker(done, "two", at_once=2):
            await bench.until(lambda: bench.job() is None)
        assert sorted(job.subject for job in bench.seen) == [f"s{number}" for number in range(6)]
        assert bench.recorded == [Done("found")] * 6

    play(plot)


def test_a_crash_is_an_attempt_and_the_last_reason_stays(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")
        async with bench.worker(crashing):
            await bench.until(lambda: bench.job() is None)
        assert [job.attempts for job in bench.seen] == [1, 2, 3]
        assert bench.seen[2].reason == "ValueError: no such column"
        again = Again("ValueError: no such column", 0.0)
        assert bench.recorded == [again, again, Failed("ValueError: no such column (after 3 attempts)")]

    play(plot)


def test_a_wait_is_no_attempt_and_a_pause_is_kept(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")
        async with bench.worker(busy):
            await bench.until(lambda: len(bench.seen) > 3)
        assert {job.attempts for job in bench.seen} == {1}
        row = bench.job()
        assert row is not None
        assert (row["reason"], row["worker"]) == ("no place", None)
        bench.seen.clear()

        async def later(_: Job) -> Outcome:
            return Again("tomorrow", after_s=86400.0, late=True)

        async with bench.worker(later):
            await bench.until(lambda: (bench.job() or {})["reason"] == "tomorrow")
            await asyncio.sleep(0.7)  # longer than between two looks
        row = bench.job()
        assert row is not None
        assert (len(bench.seen), row["attempts"], row["late"], row["due"]) == (1, 1, True, False)

    play(plot)


def test_a_killed_worker_s_job_is_taken_when_its_lease_has_ended(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")
        bench.run.do("UPDATE jobs SET worker = 'killed', attempts = 1, epoch = 1, due_at = now() + interval '1 s' "
                     "WHERE kind = %s", bench.name)
        async with bench.worker(done):
            await asyncio.sleep(0.3)
            assert not bench.seen, "its lease has not ended"
            await bench.until(lambda: bench.job() is None)
        [job] = bench.seen
        assert (job.attempts, job.takedowns, job.epoch) == (2, 1, 2)

    play(plot)


def test_a_job_that_takes_down_its_workers_is_given_up(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")
        bench.run.do("UPDATE jobs SET worker = 'worker', takedowns = %s, reason = 'out of memory', "
                     "due_at = now() + interval '1 h' WHERE kind = %s", MOST_TAKEDOWNS - 1, bench.name)
        async with bench.worker(done):  # of the same name, so that it waits for no lease
            await bench.until(lambda: bench.job() is None)
        assert not bench.seen
        [outcome] = bench.recorded
        assert isinstance(outcome, Failed)
        assert outcome.reason == (
            "it was begun 5 times, and each time its process went away; before that: out of memory")

    play(plot)


def test_a_worker_that_ends_gives_its_jobs_back(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")
        async with bench.worker(for_ever):
            await bench.until(lambda: bench.seen)
        row = bench.job()
        assert row is not None
        assert (row["worker"], row["attempts"], row["takedowns"], row["due"]) == (None, 0, 0, True)
        async with bench.worker(done, "other"):
            await bench.until(lambda: bench.job() is None)
        assert [job.attempts for job in bench.seen] == [1, 1]

    play(plot)


def test_a_lease_is_renewed_while_the_work_lasts(play: Play) -> None:
    async def long(_: Job) -> Outcome:
        await asyncio.sleep(2 * LEASE_S)
        return Done()

    async def plot(bench: Bench) -> None:
        bench.add("s")
        async with bench.worker(long, "one"), bench.worker(long, "two"):
            await bench.until(lambda: bench.job() is None)
        assert len(bench.seen) == 1

    play(plot)


def test_a_worker_that_lost_its_lease_stops_and_settles_nothing(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")
        stopped = asyncio.Event()

        async def held(job: Job) -> Outcome:
            try:
                return await for_ever(job)
            finally:
                stopped.set()

        async with bench.worker(held):
            await bench.until(lambda: bench.seen)
            bench.run.do("UPDATE jobs SET worker = 'other', epoch = epoch + 1, due_at = now() + interval '1 h' "
                         "WHERE kind = %s", bench.name)
            await asyncio.wait_for(stopped.wait(), 60)
        row = bench.job()
        assert row is not None
        assert (row["worker"], bench.recorded) == ("other", [])

    play(plot)


def test_an_outcome_that_comes_too_late_is_rolled_back(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")

        async def late(_: Job) -> Outcome:
            bench.run.do("UPDATE jobs SET epoch = epoch + 1, worker = 'other', due_at = now() + interval '1 h' "
                         "WHERE kind = %s", bench.name)
            return Done()

        async with bench.worker(late):
            await bench.until(lambda: bench.recorded)
        row = bench.job()
        assert row is not None
        assert row["worker"] == "other"

    play(plot)


def test_the_work_on_a_deleted_subject_stops(play: Play) -> None:
    """The fit of an audience is deleted while it is made: a trigger ends its job, and its worker stops quietly."""
    async def plot(bench: Bench) -> None:
        bench.name, fit = "audience_fit", ids.new("fit")
        bench.run.do("INSERT INTO audience_fits (id, tenant_id, dataset, params) VALUES (%s, %s, 'logs', '{}')",
                     fit, bench.run.tenant_id)
        stopped = asyncio.Event()

        async def held(job: Job) -> Outcome:
            try:
                return await for_ever(job)
            finally:
                stopped.set()

        async with bench.worker(held):
            await bench.until(lambda: bench.seen)
            bench.run.do("DELETE FROM audience_fits WHERE id = %s", fit)
            await asyncio.wait_for(stopped.wait(), 60)
        assert (bench.job(), bench.recorded, bench.seen[0].subject) == (None, [], fit)

    play(plot)


def test_nothing_is_settled_while_the_database_is_away(play: Play) -> None:
    async def away(job: Job) -> Outcome:
        if job.attempts == 1:
            raise OperationalError("no route to host")
        return Done()

    async def plot(bench: Bench) -> None:
        bench.add("s")
        async with bench.worker(away):
            await bench.until(lambda: bench.seen)
            row = bench.job()
            assert row is not None
            assert (row["worker"], bench.recorded) == ("worker", [])
            await bench.until(lambda: bench.job() is None)
        assert [job.attempts for job in bench.seen] == [1, 2]

    play(plot)


def test_no_attempt_is_made_for_a_tenant_that_was_deleted_meanwhile(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        bench.add("s")

        async def amid(_: Job) -> Outcome:
            bench.run.do("UPDATE tenants SET deleted_at = now() WHERE id = %s", bench.run.tenant_id)
            return Again("away", after_s=0.0)

        async with bench.worker(amid):
            await bench.until(lambda: bench.job() is None)
        assert len(bench.seen) == 1
        assert bench.recorded == [Again("away", 0.0), Failed("its tenant was deleted")]

    play(plot)


def test_owners_take_turns(play: Play) -> None:
    async def plot(bench: Bench) -> None:
        for number in range(3):
            bench.add(f"many{number}", "many", "now() - interval '1 h'")
        bench.add("few", "few")
        async with bench.worker(done, at_once=2):
            await bench.until(lambda: bench.job() is None)
        assert [job.subject for job in bench.seen] == ["many0", "few", "many1", "many2"]

    play(plot)
