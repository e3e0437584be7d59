"""The answers of a batch that share a message, and answers that no caller may use."""

import asyncio
import math
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hone.rpc.errors import Refused
from services.inference.requests import Answer, Completion, FinishReason, Request, Sampling
from services.inference.service import Inference, _answered, _together_s, _usable
from services.inference.thread import EngineThread


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


@pytest.mark.parametrize("logp", [[-1.0, math.nan], [-math.inf, -1.0]])
def test_an_answer_with_log_probs_that_are_not_finite_is_refused(logp: list[float]) -> None:
    request = Request("r", (1,), 2, Sampling(2))
    good = Completion(0, [3, 4], [-1.0, -2.0], [("ver_a", 2)], FinishReason.LENGTH)
    assert _usable(Answer(request, [good], True)).done
    bad = Completion(1, [3, 4], logp, [("ver_a", 1), ("ver_b", 1)], FinishReason.LENGTH)
    with pytest.raises(Refused, match="version ver_b gives log-probabilities that are not finite"):
        _usable(Answer(request, [good, bad], True))


class Held:
    """An engine that remembers how many callers held its version."""

    version_id = "ver_a"

    def __init__(self) -> None:
        self.seen = [0]

    @property
    def holds(self) -> int:
        return self.seen[-1]

    @holds.setter
    def holds(self, count: int) -> None:
        self.seen.append(count)


@pytest.mark.parametrize("version_id", ["", "ver_a", "ver_b"])
def test_a_caller_that_goes_before_its_hold_is_taken_leaves_none(version_id: str) -> None:
    """With a hold that is left behind an engine takes over no version any more, and its runs wait for ever."""
    async def seen() -> list[int]:
        thread, engine, busy = EngineThread(asyncio.get_running_loop()), Held(), threading.Event()
        inference = Inference(cast(Any, None), cast(Any, SimpleNamespace(thread=thread)), "engine-0", cast(Any, None))
        thread.start()
        thread.post(busy.wait)

        async def score() -> None:
            async with inference._held(cast(Any, engine), version_id):
                raise AssertionError("the caller is gone by now")

        caller = asyncio.create_task(score())
        await asyncio.sleep(0.05)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        busy.set()
        for _ in range(3):
            await thread.call(lambda: None)
            await asyncio.sleep(0)
        thread.stop()
        return engine.seen

    assert asyncio.run(seen()) == ([0] if version_id == "ver_b" else [0, 1, 0])
