"""The first result of a sample stays, even if two arrive at the same moment."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from psycopg import AsyncConnection

from hone.graders.contract import Result, Scored, Status
from hone.rpc.errors import NotFound, NotReady
from hone.store.database import AsyncDatabase
from services.reward.ledger import Account, Ledger
from tests.integration.reward.rows import Run, make_run

RESULT = Result(Status.OK, 0.5, {"format": 1.0, "content": 0.25}, ("a reason", "another"), "5", "rule", 1.5,
                {"0": {"a": 1.0, "b": -0.5}, "1.0.1": {"a": 0.0}},
                (Scored("0", 3, 7, "why", 0.5), Scored("", 7, 9, "why", -1.0), Scored("1.0.1", 0, 2, "how", 1.0)),
                tokens={"judge@3": 120}, evidence=({"asked": [{"role": "user", "content": "?"}], "answered": "1"},))
MASKED = Result(Status.INFRA_ERROR, None, reasons=("ours",), decided_by="infra_error")


@pytest.fixture
def run(postgres_owner_url: str) -> Run:
    return make_run(postgres_owner_url)


@pytest.fixture
async def ledger(postgres_url: str) -> AsyncIterator[Ledger]:
    database = AsyncDatabase(postgres_url)
    await database.open()
    yield Ledger(database)
    await database.close()


def account(run: Run) -> Account:
    return Account(run.tenant_id, run.id, "hash")


async def test_results_come_back_whole(ledger: Ledger, run: Run) -> None:
    group = run.groups(0)[0]
    added = await ledger.add(account(run), {(group, 0): RESULT, (group, 1): MASKED})
    assert {key: grade.result for key, grade in added.items()} == {(group, 0): RESULT, (group, 1): MASKED}
    assert await ledger.stored(account(run), [(group, 0), (group, 1), (group, 2)]) == added


async def test_a_later_result_changes_nothing(ledger: Ledger, run: Run) -> None:
    group = run.groups(0)[0]
    first = await ledger.add(account(run), {(group, 0): RESULT})
    better = replace(RESULT, score=1.0, components={"format": 0.0, "content": 1.0})
    second = await ledger.add(account(run), {(group, 0): better, (group, 1): better})
    assert second[group, 0] == first[group, 0]
    assert second[group, 1].result == better


async def test_each_grade_is_counted_once(ledger: Ledger, run: Run) -> None:
    group = run.groups(0)[0]
    await ledger.add(account(run), {(group, 0): RESULT})
    await ledger.add(account(run), {(group, 0): RESULT, (group, 1): MASKED})
    async with await AsyncConnection.connect(run.url) as connection:
        counted = await connection.execute(
            "SELECT sum(amount) FROM usage WHERE run_id = %s AND kind = 'grades'", (run.id,))
        assert await counted.fetchone() == (2.0,)


async def test_a_result_that_comes_while_another_commits_gives_way(ledger: Ledger, run: Run) -> None:
    group = run.groups(0)[0]
    async with await AsyncConnection.connect(run.url) as other:
        await other.execute(
            "INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, status, value)"
            " VALUES (%s, %s, %s, 0, 'hash', 'ok', 0.125)", (run.tenant_id, run.id, group))
        adding = asyncio.create_task(ledger.add(account(run), {(group, 0): RESULT}))
        await asyncio.sleep(0.3)
        assert not adding.done()
        await other.commit()
    assert (await adding)[group, 0].result.score == 0.125


async def test_another_runs_group_is_not_found(ledger: Ledger, run: Run) -> None:
    with pytest.raises(NotFound, match="group 999999999: not a group of run"):
        await ledger.stored(account(run), [(999_999_999, 0)])


async def test_a_database_that_is_away_is_said_to_be(run: Run) -> None:
    database = AsyncDatabase("postgresql://nobody@127.0.0.1:9/none?connect_timeout=1")
    await database.open()
    database._pool.timeout = 1.0
    with pytest.raises(NotReady, match="the database is away"):
        await Ledger(database).stored(account(run), [(1, 0)])
    await database.close()
