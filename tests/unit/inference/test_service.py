"""The answers of a batch that share a message."""

import asyncio

import pytest

from services.inference.requests import Answer, Completion, FinishReason, Request, Sampling
from services.inference.service import _answered, _together_s


def answer(name: str) -> Answer:
    request = Request(name, (1,), 1, Sampling(4))
    return Answer(request, [Completion(0, [2], [-1.0], [], FinishReason.STOP)], True)


async def messages(*come_after_s: float, together_s: float) -> list[list[str]]:
    queue: asyncio.Queue[Answer | Exception] = asyncio.Queue()
    for number, after_s in enumerate(come_after_s):
        asyncio.get_running_loop().call_later(after_s, queue.put_nowait, answer(str(number)))
    answered = _answered(queue, len(come_after_s), lambda _: together_s)
    return [[one.request.request_id for one in together] async for together in answered]


def test_answers_wait_for_others_unless_all_have_come() -> None:
    assert asyncio.run(messages(0, 0, 1, 1, together_s=0.3)) == [["0", "1"], ["2", "3"]]
    assert asyncio.run(asyncio.wait_for(messages(0, 0, together_s=3600), 60)) == [["0", "1"]]


@pytest.mark.parametrize(("taken_s", "waits_s"), [(0.0, 0.05), (0.1, 0.05), (0.5, 0.1), (1.0, 0.2), (60.0, 0.2)])
def test_a_slow_answer_waits_longer_within_bounds(taken_s: float, waits_s: float) -> None:
    assert _together_s(taken_s) == pytest.approx(waits_s)


def test_the_time_to_wait_depends_on_the_age_of_the_first_answer() -> None:
    ages: list[float] = []

    def at_once(age: float) -> float:
        ages.append(age)
        return 0.0

    async def run() -> None:
        queue: asyncio.Queue[Answer | Exception] = asyncio.Queue()
        asyncio.get_running_loop().call_later(0.2, queue.put_nowait, answer("0"))
        asyncio.get_running_loop().call_later(0.5, queue.put_nowait, answer("1"))
        async for _ in _answered(queue, 2, at_once):
            pass

    asyncio.run(run())
    assert ages[0] >= 0.2
    assert ages[1] >= 0.5
