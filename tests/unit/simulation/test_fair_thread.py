"""Jobs run part by part in a thread, off the event loop; those of a slow owner hold up no other's."""

import asyncio
import threading
import time
from functools import partial

import pytest

from hone.telemetry import logs
from services.simulation.fair_thread import SLICE_S, FairThread, Owner

ONE, OTHER = Owner("tenant", "run"), Owner("other", "another run")


async def test_results_and_errors_reach_their_callers() -> None:
    thread = FairThread("tasks")
    assert await asyncio.gather(*(thread.run(ONE, partial(pow, number, 2)) for number in range(5))) == [0, 1, 4, 9, 16]
    assert await thread.run_all(ONE, [partial(pow, number, 2) for number in range(3)]) == [0, 1, 4]
    assert await thread.run_all(ONE, []) == []
    with pytest.raises(ZeroDivisionError):
        await thread.run_all(ONE, [lambda: 1, lambda: 1 // 0])
    assert await thread.run(ONE, lambda: "on") == "on"


async def test_one_thread_makes_all_and_ends_with_the_process() -> None:
    thread = FairThread("tasks")
    owners = [Owner("tenant", str(number % 3)) for number in range(20)]
    threads = set(await asyncio.gather(*(thread.run(owner, threading.current_thread) for owner in owners)))
    assert len(threads) == 1
    assert threads.pop().daemon


async def test_a_started_job_is_finished_and_a_cancelled_one_is_left_out() -> None:
    thread, made = FairThread("tasks"), []
    started, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        started.set()
        go_on.wait(60)
        made.append("slow")

    calls = [asyncio.create_task(thread.run_all(ONE, [slow, lambda: made.append("rest")])),
             asyncio.create_task(thread.run(ONE, lambda: made.append("never")))]
    await asyncio.to_thread(started.wait, 10)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    go_on.set()
    await thread.run(ONE, lambda: made.append("last"))
    assert made == ["slow", "rest", "last"]


async def test_log_lines_of_a_function_have_its_callers_fields() -> None:
    thread = FairThread("tasks")
    with logs.about(run_id="run_1"):
        assert await thread.run(ONE, logs.subject) == {"run_id": "run_1"}
    assert await thread.run(ONE, logs.subject) == {}


async def order_of(slow: Owner, quick: Owner) -> list[str]:
    """Return the parts as they ran: many slow ones, and quick ones that came soon after the first."""
    thread, ran, started = FairThread("steps"), list[str](), threading.Event()

    def slowly(number: int) -> None:
        started.set()
        time.sleep(2 * SLICE_S)
        ran.append(f"slow {number}")

    jobs = [asyncio.create_task(thread.run_all(slow, [partial(slowly, 4 * job + part) for part in range(4)]))
            for job in range(2)]
    await asyncio.to_thread(started.wait, 10)
    await thread.run_all(quick, [partial(ran.append, f"quick {number}") for number in range(3)])
    await asyncio.gather(*jobs)
    return ran


@pytest.mark.parametrize("quick", [OTHER, Owner("tenant", "another run")])
async def test_slow_parts_of_one_owner_do_not_hold_up_another(quick: Owner) -> None:
    ran = await order_of(ONE, quick)
    assert [part for part in ran if part.startswith("slow")] == [f"slow {number}" for number in range(8)]
    place = ran.index("quick 0")
    assert place < 4, "it waited for the present part, and not for the two jobs"
    assert ran[place:place + 3] == ["quick 0", "quick 1", "quick 2"]


async def test_a_tenant_of_many_runs_has_the_turns_of_one() -> None:
    thread, ran, started, go_on = FairThread("steps"), list[str](), threading.Event(), threading.Event()

    def hold() -> None:
        started.set()
        go_on.wait(60)

    def part(tenant: str) -> None:
        time.sleep(0.01)
        ran.append(tenant)

    first = asyncio.create_task(thread.run(Owner("none", "none"), hold))
    await asyncio.to_thread(started.wait, 10)
    many = [asyncio.create_task(thread.run_all(Owner("many", str(run)), [partial(part, "many")] * 3))
            for run in range(6)]
    single = asyncio.create_task(thread.run_all(Owner("single", "run"), [partial(part, "single")] * 6))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(first, single, *many)
    assert ran.index("single") < 6
    last = len(ran) - 1 - ran[::-1].index("single")
    assert ran[:last + 1].count("many") <= 10, "twelve turns of the many had gone by if they had been equal to runs"
