"""A single statement is sent alone; the statements of a transaction are committed together; connections are reused."""

from collections.abc import AsyncIterator, Iterable, Iterator

import psycopg
import pytest
from psycopg import OperationalError
from psycopg.errors import NotNullViolation

from hone.store.database import OPTIONS, AsyncDatabase, Database


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    database = Database(postgres_url, size=1)
    yield database
    database.close()


@pytest.fixture
async def async_database(postgres_url: str) -> AsyncIterator[AsyncDatabase]:
    database = AsyncDatabase(postgres_url, size=1)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def looking(postgres_owner_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_owner_url, autocommit=True) as connection:
        yield connection
        connection.execute("DELETE FROM workers")


def _names(looking: psycopg.Connection) -> set[str]:
    return {name for name, in looking.execute("SELECT id FROM workers")}


def _last(looking: psycopg.Connection) -> list[tuple[str, str]]:
    return looking.execute(
        "SELECT state, split_part(query, ' ', 1) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'").fetchall()


def test_a_single_statement_opens_no_transaction(database: Database, looking: psycopg.Connection) -> None:
    assert database.run("workers.beat", id="a", kind="rollout") == 1
    assert _names(looking) == {"a"}
    assert _last(looking) == [("idle", "INSERT")]
    assert [row["id"] for row in database.all("workers.all")] == ["a"]
    assert database.one("api_keys.holder", hash="none") is None
    assert _last(looking) == [("idle", "SELECT")]


async def test_a_single_asynchronous_statement_opens_no_transaction(
        async_database: AsyncDatabase, looking: psycopg.Connection) -> None:
    assert await async_database.run("workers.beat", id="a", kind="rollout") == 1
    assert _names(looking) == {"a"}
    assert _last(looking) == [("idle", "INSERT")]
    assert [row["id"] for row in await async_database.all("workers.all")] == ["a"]
    assert await async_database.one("api_keys.holder", hash="none") is None
    assert _last(looking) == [("idle", "SELECT")]


def _together(database: Database, names: Iterable[str | None]) -> None:
    with database.transaction() as transaction:
        for name in names:
            transaction.run("workers.beat", id=name, kind="rollout")


async def _together_in_a_loop(database: AsyncDatabase, names: Iterable[str | None]) -> None:
    async with database.transaction() as transaction:
        for name in names:
            await transaction.run("workers.beat", id=name, kind="rollout")


def test_a_transaction_is_seen_as_a_whole(database: Database, looking: psycopg.Connection) -> None:
    def names() -> Iterator[str]:
        yield from "ab"
        assert _names(looking) == set()

    _together(database, names())
    assert _names(looking) == {"a", "b"}
    with pytest.raises(NotNullViolation):
        _together(database, ["c", None])
    assert _names(looking) == {"a", "b"}


async def test_an_asynchronous_transaction_is_seen_as_a_whole(
        async_database: AsyncDatabase, looking: psycopg.Connection) -> None:
    def names() -> Iterator[str]:
        yield from "ab"
        assert _names(looking) == set()

    await _together_in_a_loop(async_database, names())
    assert _names(looking) == {"a", "b"}
    with pytest.raises(NotNullViolation):
        await _together_in_a_loop(async_database, ["c", None])
    assert _names(looking) == {"a", "b"}


def test_a_refused_statement_leaves_a_usable_connection(database: Database, looking: psycopg.Connection) -> None:
    for _ in range(2):
        with pytest.raises(NotNullViolation):
            database.run("workers.beat", id=None, kind="rollout")
        with pytest.raises(NotNullViolation):
            _together(database, ["a", None])
    assert database.run("workers.beat", id="b", kind="rollout") == 1
    assert _names(looking) == {"b"}


def test_a_lost_connection_raises_once_and_is_replaced(database: Database, looking: psycopg.Connection) -> None:
    def lose() -> None:
        looking.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'")

    def names() -> Iterator[str]:
        yield "d"
        lose()

    database.run("workers.beat", id="a", kind="rollout")
    lose()
    with pytest.raises(OperationalError):
        database.run("workers.beat", id="b", kind="rollout")
    assert database.run("workers.beat", id="c", kind="rollout") == 1
    with pytest.raises(OperationalError):
        _together(database, names())
    assert database.run("workers.beat", id="e", kind="rollout") == 1
    assert _names(looking) == {"a", "c", "e"}


def test_no_statement_is_compiled(postgres_owner_url: str) -> None:
    with psycopg.connect(postgres_owner_url, options=OPTIONS) as connection:
        assert connection.execute("SHOW jit").fetchall() == [("off",)]
