"""The choice of an engine: it holds the model and does not refuse it; other engines are asked to load the model."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import psycopg
import pytest
import pytest_asyncio

from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import AsyncDatabase
from services.rollout.engines import ROOM, Engines
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.rows import Run, add_run, engine_holds, register_engine


@pytest_asyncio.fixture
async def other(run: Run) -> AsyncIterator[Peers]:
    """A second engine, engine-1."""
    found = Peers()
    await found.start()
    register_engine(run.url, "engine-1", found.address, age_s=-3600)
    yield found
    await found.stop()


@pytest_asyncio.fixture
async def engines(settings: Settings) -> AsyncIterator[Engines]:
    database = AsyncDatabase(settings.database_url, size=1)
    await database.open()
    found = Engines(database, settings)
    yield found
    await found.close()
    await database.close()


async def until(fulfilled: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not fulfilled():
            await asyncio.sleep(0.02)


def add_runs(run: Run, settings: Settings, count: int) -> list[Run]:
    return [add_run(run.url, objects.connect(settings.objects_url)) for _ in range(count)]


def end(run: Run) -> None:
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE runs SET state = 'succeeded' WHERE id = %s", (run.run_id,))


async def test_runs_that_come_one_after_another_each_use_every_engine(
    run: Run, settings: Settings, other: Peers, engines: Engines
) -> None:
    for one in [run, *add_runs(run, settings, ROOM)]:
        engine_holds(run.url, "engine-0", one)
        await engines.look()
        await engines.choose(one.model_id)
        await until(lambda one=one: one.model_id in other.inference.loads)  # type: ignore[misc]
        engine_holds(run.url, "engine-1", one)
        end(one)


async def test_an_engine_full_of_models_of_running_runs_is_not_asked_to_hold_more(
    run: Run, settings: Settings, other: Peers, engines: Engines
) -> None:
    busy = add_runs(run, settings, ROOM)
    for one in busy:
        engine_holds(run.url, "engine-1", one)
    engine_holds(run.url, "engine-0", run)
    await engines.look()
    await engines.choose(run.model_id)
    end(busy[0])
    await engines.look()
    await engines.choose(run.model_id)
    await until(lambda: bool(other.inference.loads))
    assert other.inference.loads == [run.model_id]


async def test_a_model_that_answers_for_a_role_is_one_of_a_running_run(
    run: Run, settings: Settings, engines: Engines
) -> None:
    model_id, version_id = run.answer_for("user", objects.connect(settings.objects_url), {})
    engine_holds(run.url, "engine-0", replace(run, model_id=model_id, version_id=version_id))
    await engines.look()
    assert [engine.busy for engine in engines._known.values()] == [1]
    end(run)
    await engines.look()
    assert [engine.busy for engine in engines._known.values()] == [0]


async def test_an_engine_that_let_a_model_go_is_invited_again(run: Run, other: Peers, engines: Engines) -> None:
    engine_holds(run.url, "engine-0", run)
    await engines.look()
    for count in (1, 2):
        await engines.choose(run.model_id)
        await until(lambda count=count: len(other.inference.loads) == count)  # type: ignore[misc]
        await until(lambda: all(run.model_id in engine.models for engine in engines._known.values()))
        await engines.choose(run.model_id)
        await asyncio.sleep(0.05)
        assert len(other.inference.loads) == count, "what it has just loaded it is not asked for"
        await engines.look()  # its row does not list the model


@pytest.mark.parametrize("holds", [True, False])
async def test_an_engine_that_refuses_the_newest_version_is_passed_over(
    run: Run, other: Peers, engines: Engines, holds: bool
) -> None:
    newest = run.publish(1)
    engine_holds(run.url, "engine-0", run, refused_version_id=newest)
    if holds:
        engine_holds(run.url, "engine-1", run)
    await engines.look()
    assert (await engines.choose(run.model_id)).id == "engine-1"
    engine_holds(run.url, "engine-1", run, refused_version_id=newest)
    await engines.look()
    assert (await engines.choose(run.model_id)).id == "engine-0", "there is no other"
    run.publish(2)
    engine_holds(run.url, "engine-1", run)
    await engines.look()
    assert (await engines.choose(run.model_id)).id == "engine-0", "what it refused is not the newest any more"
    assert other.inference.loads == []
