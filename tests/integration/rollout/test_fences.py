"""Claims: their distribution over workers and tenants, and the fence against a worker whose claim is lost."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from hone.spec.settings import Addresses, Settings
from hone.store import objects
from hone.store.database import AsyncDatabase
from hone.trajectory.records import Call, Turn, VersionSpan
from services.rollout.calls import Journal
from services.rollout.claims import SHARES, ClaimLost, Claims
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.rows import Run, add_run, every, one


@pytest_asyncio.fixture
async def database(settings: Settings) -> AsyncIterator[AsyncDatabase]:
    found = AsyncDatabase(settings.database_url)
    await found.open()
    yield found
    await found.close()


def expire_claims(run: Run) -> None:
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE groups SET claim_expires = now() WHERE run_id = %s", (run.run_id,))


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("stage", ["inference", "reward"])
async def test_a_claimant_overtaken_at_any_stage_commits_nothing(
        run: Run, peers: Peers, open_worker: Open, stage: str) -> None:
    gate = getattr(peers, stage)
    gate.open.clear()
    run.request(2, n=3)
    first = asyncio.create_task((await open_worker(claim_groups=2, lease_s=600)).work())  # claims as many as it may
    await until(lambda: gate.requests)
    overtaking = await open_worker(process_name="rollout-1")
    expire_claims(run)
    second = asyncio.create_task(overtaking.work())
    await until(lambda: {group["attempt"] for group in run.groups()} == {2})
    gate.open.set()
    await asyncio.gather(first, second)
    groups = run.groups()
    assert [(group["state"], group["attempt"], group["claim_owner"]) for group in groups] == [
        ("ready", 2, "rollout-1")] * 2
    assert [len(group["parts"]) for group in groups] == [1, 1]
    stored = every(run.url, "SELECT DISTINCT part FROM trajectories WHERE run_id = %(id)s", id=run.run_id)
    assert {row["part"] for row in stored} == {part for group in groups for part in group["parts"]}
    assert one(run.url, "SELECT count(*) AS n FROM journal")["n"] == 0


async def test_a_claimant_that_is_overtaken_leaves_its_group_to_the_next(
        run: Run, peers: Peers, open_worker: Open) -> None:
    others = Peers()
    await others.start()
    peers.reward.open.clear()
    others.reward.open.clear()
    run.request(1)
    first = asyncio.create_task((await open_worker(claim_groups=1, lease_s=600)).work())
    await until(lambda: peers.reward.requests)
    expire_claims(run)
    addresses = Addresses(simulation=peers.address, reward=others.address)
    later = await open_worker(process_name="rollout-1", addresses=addresses)
    second = asyncio.create_task(later.work())
    await until(lambda: others.reward.requests)
    peers.reward.open.set()
    await first
    assert run.states() == ["requested"]
    others.reward.open.set()
    await second
    assert run.states() == ["ready"]
    await others.stop()


async def test_calls_that_an_earlier_attempt_journaled_are_not_made_again(
        run: Run, peers: Peers, open_worker: Open) -> None:
    peers.reward.open.clear()
    run.request(2, n=3)
    first = asyncio.create_task((await open_worker(claim_groups=2, lease_s=600)).work())
    await until(lambda: one(run.url, "SELECT count(*) AS n FROM journal")["n"] == 2)
    expire_claims(run)
    peers.reward.open.set()
    await (await open_worker(process_name="rollout-1")).work()
    await first
    assert sorted(request.noise.request for request in peers.inference.requests) == ["train/0", "train/1"]
    assert run.states() == ["ready", "ready"]


async def test_a_journaled_call_that_cannot_be_read_is_made_again(run: Run, peers: Peers, open_worker: Open) -> None:
    [group_id] = run.request(1, n=2)
    with psycopg.connect(run.url) as connection:
        connection.execute("INSERT INTO journal (group_id, index, call, attempt, body) VALUES (%s, 1, 0, 1, 'torn')",
                           (group_id,))
    await (await open_worker()).work()
    assert run.states() == ["ready"]
    assert [request.n for request in peers.inference.requests] == [2]


async def test_a_group_that_the_driver_drops_is_left_at_once(run: Run, peers: Peers, open_worker: Open) -> None:
    peers.inference.open.clear()
    run.request(1)
    work = asyncio.create_task((await open_worker(lease_s=0.6)).work())
    await until(lambda: peers.inference.requests)
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE groups SET state = 'dropped', reason = 'cancelled' WHERE run_id = %s", (run.run_id,))
    await asyncio.wait_for(work, 120)
    assert run.states() == ["dropped"]


async def test_a_claim_outlives_its_lease_while_its_worker_lives(run: Run, peers: Peers, open_worker: Open) -> None:
    peers.inference.open.clear()
    run.request(1)
    work = asyncio.create_task((await open_worker(lease_s=2.0)).work())
    await until(lambda: peers.inference.requests)
    await asyncio.sleep(4.5)  # more than two leases
    await (await open_worker(process_name="rollout-1")).work()
    assert [(group["attempt"], group["claim_owner"]) for group in run.groups()] == [(1, "rollout-0")]
    peers.inference.open.set()
    await work
    assert run.states() == ["ready"]


async def test_a_worker_that_ends_gives_its_claims_back(run: Run, peers: Peers, open_worker: Open) -> None:
    peers.inference.open.clear()
    run.request(2)
    worker = await open_worker()
    work = asyncio.create_task(worker.work())
    await until(lambda: peers.inference.requests)
    await worker.close()
    await work
    peers.inference.open.set()
    await (await open_worker(process_name="rollout-1")).work()
    assert run.states() == ["ready", "ready"]


async def test_a_restarted_worker_claims_its_predecessors_groups(run: Run, settings: Settings,
                                                                 database: AsyncDatabase) -> None:
    run.request(1)
    assert len(await Claims(database, settings).take(settings.claim_groups)) == 1
    stranger = Claims(database, settings.model_copy(update={"process_name": "rollout-1"}))
    await stranger.release_predecessor()
    assert await stranger.take(settings.claim_groups) == []
    successor = Claims(database, settings)
    await successor.release_predecessor()
    assert [claim.attempt for claim in await successor.take(settings.claim_groups)] == [2]


async def test_tenants_take_turns_and_keep_their_quota(run: Run, settings: Settings, database: AsyncDatabase) -> None:
    other = add_run(run.url, objects.connect(settings.objects_url))
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE tenants SET max_running_groups = 5 WHERE id = %s", (run.tenant_id,))
    run.request(12)
    other.request(4)
    claims = Claims(database, settings)
    taken = [[claim.tenant_id for claim in await claims.take(6)] for _ in range(3)]
    assert [tenants.count(run.tenant_id) for tenants in taken] == [3, 2, 0]
    assert [tenants.count(other.tenant_id) for tenants in taken] == [3, 1, 0]


async def test_a_tenant_that_floods_the_queue_with_slow_groups_keeps_no_other_waiting(
        run: Run, settings: Settings, database: AsyncDatabase) -> None:
    other = add_run(run.url, objects.connect(settings.objects_url))
    most, few = 16, settings.model_copy(update={"claim_groups": 16})
    run.request(60)
    claims = Claims(database, few)
    for expected in (*[most] * SHARES, 0):  # its groups are so slow that none of them ends
        assert len(await claims.take(most)) == expected
    for request in range(3):  # three steps of the other tenant: each is claimed whole, at its first hint
        other.request(8, first=8 * request)
        assert [claim.tenant_id for claim in await claims.take(most)] == [other.tenant_id] * 8
    assert len(await Claims(database, few.model_copy(update={"process_name": "rollout-1"})).take(most)) == most


async def test_groups_past_their_deadline_are_not_claimed(run: Run, settings: Settings,
                                                         database: AsyncDatabase) -> None:
    late, _ = run.request(2)
    with psycopg.connect(run.url) as connection:
        connection.execute("UPDATE groups SET deadline = now() WHERE id = %s", (late,))
    claims = await Claims(database, settings).take(settings.claim_groups)
    assert [claim.order.request for claim in claims] == ["train/1"]


async def test_the_oldest_version_that_may_sample_a_group_is_fixed_by_its_first_claim(
        run: Run, settings: Settings, database: AsyncDatabase) -> None:
    run.request(1, version_id=None)
    await Claims(database, settings).take(1)
    run.publish(1)
    expire_claims(run)
    [later] = await Claims(database, settings).take(1)
    assert (later.attempt, later.begun) == (2, 0)


async def test_the_journal_takes_a_call_once_and_from_its_claimant_only(run: Run, settings: Settings,
                                                                       database: AsyncDatabase) -> None:
    run.request(1)
    claims, journal = Claims(database, settings), Journal(database)
    [claim] = await claims.take(settings.claim_groups)
    turn = Turn(Call(index=0, number="0", prompt_ids=[1], completion_ids=[2], logp_sample=[-0.5], finish_reason="stop",
                     versions=[VersionSpan(run.version_id, 1)], text="", train_mask=[True]))
    await journal.keep(claim, {0: turn})
    await journal.keep(claim, {0: turn})  # as if the first answer was lost with the connection
    expire_claims(run)
    [later] = await claims.take(settings.claim_groups)
    assert later.journaled == {(0, "0"): turn}
    with pytest.raises(ClaimLost):
        await journal.keep(claim, {1: turn})
    assert one(run.url, "SELECT count(*) AS n FROM journal WHERE group_id = %(id)s", id=claim.id)["n"] == 1
