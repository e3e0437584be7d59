"""A worker that ends because its memory is over: the group that does it twice is refused, healthy ones are made."""

from services.rollout.worker import Worker
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.rows import Run

REASON = "its memory was 2100 MiB, expected at most 2048 (HONE_MEMORY_MB)"


def end(worker: Worker) -> None:
    """Let a worker record what it held, and renew nothing any more, as when its process ends."""
    held = list(worker._claims._held.values())
    worker._claims.let_go(held)
    worker.blame(REASON)


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
    assert [group["refused"] for group in run.groups()] == [f"it ended a rollout worker twice: {REASON}", None, None]

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
