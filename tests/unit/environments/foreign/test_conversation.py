"""Turns of the episodes of one program to start processes."""

import asyncio

import pytest

from hone.environments.foreign.children.verifiers_rollouts.conversation import Conversation, Refused


async def waits(task: "asyncio.Task[None]") -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return not task.done()


async def began(free: asyncio.Semaphore, one: Conversation) -> "asyncio.Task[None]":
    task = asyncio.create_task(one.begins(free))
    await waits(task)
    return task


async def turns() -> None:
    free, sent = asyncio.Semaphore(2), list[object]()
    asks, ends, third, leaves, last = (Conversation(sent.append) for _ in range(5))
    await asks.begins(free)
    await asks.begins(free)  # more processes of one episode need no turn of their own
    await ends.begins(free)
    waiting = [await began(free, one) for one in (third, leaves, last)]
    assert [await waits(task) for task in waiting] == [True] * 3
    asks.answers.put_nowait({"text": "4"})
    assert await asks.asked([{"role": "user", "content": "2 and 2?"}], []) == {"text": "4"}
    assert [await waits(task) for task in waiting] == [False, True, True]
    waiting[1].cancel()
    ends.end_turn()
    ends.end_turn()
    assert await waits(waiting[2]) is False
    assert (waiting[1].cancelled(), free.locked()) == (True, True)
    await asks.begins(free)  # it has begun: what starts later waits for none
    for one in (asks, ends, third, leaves, last):
        one.end_turn()
    await asyncio.gather(*(Conversation(sent.append).begins(free) for _ in range(2)))
    assert free.locked(), "a turn was given back once"


def test_few_episodes_start_at_a_time_and_each_gives_its_turn_back_once() -> None:
    asyncio.run(asyncio.wait_for(turns(), 60))


async def refused() -> None:
    free = asyncio.Semaphore(1)
    one = Conversation(print)
    await one.begins(free)
    with pytest.raises(Refused, match="no text"):
        await one.asked([{"role": "user", "content": [{"type": "image_url"}]}], [])
    one.end_turn()
    assert not free.locked()


def test_an_episode_that_is_refused_gives_its_turn_back() -> None:
    asyncio.run(refused())
