"""A process that ends because its memory is over: the group that does it twice is refused, healthy ones are made."""

from typing import Any

import pytest

from hone.process.memory import MemoryEnd
from hone.spec.settings import Settings
from hone.store import objects
from services.rollout.worker import Worker
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.peers import WHY, Peers
from tests.integration.rollout.rows import Run, add_run, every


def end(worker: Worker) -> None:
    """Let a worker record what it held, and renew nothing any more, as when its process ends."""
    worker.blame(MemoryEnd("rollout", WHY))
    worker._claims.let_go(list(worker._claims._held.values()))


async def test_groups_of_a_worker_that_ended_run_alone_and_the_one_that_ends_another_is_refused(
        run: Run, open_worker: Open) -> None:
    bad, *healthy = run.request(3)
    ending = await open_worker(process_name="rollout-1")
    assert len(await ending._claims.take(8)) == 3
    end(ending)
    assert [group["memory_ends"] for group in run.groups()] == [1, 1, 1]

    again = await open_worker(process_name="rollout-2")
    [alone] = await again._claims.take(8)
    assert alone.id == bad
    assert await again._claims.take(8) == [], "nothing is claimed beside it"
    end(again)
    assert [group["refused"] for group in run.groups()] == [f"it ended two processes, rollout last: {WHY}", None, None]

    await (await open_worker()).work()
    assert [group["id"] for group in run.groups() if group["state"] == "ready"] == healthy


async def test_a_worker_that_holds_others_claims_none_that_is_to_run_alone(run: Run, open_worker: Open) -> None:
    run.request(2)
    ending, busy = await open_worker(process_name="rollout-1"), await open_worker(process_name="rollout-2")
    [_] = await ending._claims.take(1)
    held = await busy._claims.take(8)
    end(ending)
    assert (len(held), await busy._claims.take(8)) == (1, [])
    await busy._claims.release(held)
    await busy.work()
    assert run.states() == ["ready"] * 2


@pytest.mark.parametrize("service", ["simulation", "reward"])
async def test_a_group_that_ends_a_service_twice_is_refused_and_those_beside_it_are_made(
        run: Run, peers: Peers, open_worker: Open, service: str) -> None:
    bad, *healthy = run.request(3)
    task = run.groups()[0]["order"]["task"]["params"]
    peer: Any = getattr(peers, service)
    peer.over = task["prompt" if service == "simulation" else "answer"]
    await (await open_worker(sweep_s=0.05)).work()
    refused, *others = run.groups()
    assert (refused["id"], refused["refused"]) == (bad, f"it ended two processes, {service} last: {WHY}")
    assert [(one["id"], one["state"]) for one in others] == [(id, "ready") for id in healthy]
    messages = every(run.url, "SELECT message FROM events WHERE run_id = %(id)s ORDER BY id", id=run.run_id)
    assert (f"train group 0 was in work when {service} ended: {WHY}. It is tried once more, alone"
            in {one["message"] for one in messages})


async def test_one_suspect_runs_at_a_time_before_the_rest_of_its_run_and_beside_other_runs(
        run: Run, settings: Settings, open_worker: Open) -> None:
    suspects = run.request(2)
    ending, first, second = [await open_worker(process_name=f"rollout-{number}") for number in (1, 2, 3)]
    await ending._claims.take(8)
    end(ending)
    run.request(1, first=2)
    other = add_run(run.url, objects.connect(settings.objects_url))
    [beside] = other.request(1)
    [alone] = await first._claims.take(8)
    assert alone.id == suspects[0]
    assert [claim.id for claim in await second._claims.take(8)] == [beside]
    for worker in (first, second):
        await worker._claims.release(list(worker._claims._held.values()))
    await first.work()
    assert (run.states(), other.states()) == (["ready"] * 3, ["ready"])


async def test_a_killed_worker_is_no_reason_to_refuse_its_groups(run: Run, open_worker: Open) -> None:
    run.request(2)
    for number in range(3):
        killed = await open_worker(process_name="rollout-1")
        await killed._claims.take(8)
        assert [group["attempt"] for group in run.groups()] == [number + 1] * 2
        killed._claims.let_go(list(killed._claims._held.values()))
        await killed._claims.release_predecessor()
    await (await open_worker()).work()
    assert run.states() == ["ready"] * 2
    assert [group["memory_ends"] for group in run.groups()] == [0, 0]
