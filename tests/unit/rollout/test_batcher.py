"""Batching: items that go together, items that wait, failed calls, and calls that nobody wants any more."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hone.telemetry import logs, tracing
from services.rollout.batcher import Batcher, Unanswered


class Doubler:
    """Answers numbers with their doubles and remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def answer(self, items: list[int]) -> AsyncIterator[tuple[int, int]]:
        self.batches.append(items)
        await self.gate.wait()
        for place in reversed(range(len(items))):
            if items[place] < 0:
                raise ValueError(f"found {items[place]}")
            yield place, 2 * items[place]


async def test_items_of_one_moment_go_together_and_each_gets_its_own_answer() -> None:
    doubler = Doubler()
    batcher = Batcher(doubler.answer)
    assert await asyncio.gather(*map(batcher.ask, range(5))) == [0, 2, 4, 6, 8]
    assert doubler.batches == [[0, 1, 2, 3, 4]]
    assert batcher.idle


async def test_items_that_come_while_all_calls_are_busy_go_together_afterwards() -> None:
    doubler = Doubler()
    doubler.gate.clear()
    batcher = Batcher(doubler.answer, calls=1)
    first = asyncio.create_task(batcher.ask(1))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(batcher.ask(number)) for number in (2, 3)]
    await asyncio.sleep(0.01)
    others.append(asyncio.create_task(batcher.ask(4)))
    doubler.gate.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6, 8]
    assert doubler.batches == [[1], [2, 3, 4]]


async def test_log_lines_of_a_call_name_all_its_items() -> None:
    subjects: list[logs.Subject] = []

    async def answer(items: list[int]) -> AsyncIterator[tuple[int, int]]:
        subjects.append(logs.subject())
        for place, item in enumerate(items):
            yield place, item

    batcher = Batcher(answer)

    async def ask(run: str, group: int) -> None:
        with logs.about(run_id=run, group_id=group):
            await batcher.ask(group)

    await asyncio.gather(ask("run_1", 1), ask("run_2", 2))
    await ask("run_2", 3)
    assert subjects == [{"run_ids": ["run_1", "run_2"], "group_ids": [1, 2]}, {"run_id": "run_2", "group_id": 3}]


async def test_an_error_reaches_those_without_an_answer_only() -> None:
    batcher = Batcher(Doubler().answer)
    found = await asyncio.gather(*map(batcher.ask, [1, -2, 3]), return_exceptions=True)
    assert [str(one) for one in found] == ["found -2", "found -2", "6"]


async def test_where_one_item_may_be_at_fault_the_others_are_asked_alone() -> None:
    doubler = Doubler()
    batcher = Batcher(doubler.answer, split=lambda error: isinstance(error, ValueError))
    found = await asyncio.gather(*map(batcher.ask, [1, -2, 3]), return_exceptions=True)
    assert [str(one) for one in found] == ["2", "found -2", "6"]
    assert doubler.batches == [[1, -2, 3], [1], [-2]]


async def test_a_call_that_forgets_an_item_is_an_error() -> None:
    async def forgetful(items: list[int]) -> AsyncIterator[tuple[int, int]]:
        yield 0, items[0]

    batcher = Batcher(forgetful)
    found = await asyncio.gather(batcher.ask(7), batcher.ask(8), return_exceptions=True)
    assert found[0] == 7
    assert isinstance(found[1], Unanswered)


async def test_a_call_ends_when_nobody_waits_for_it() -> None:
    ended = asyncio.Event()

    async def slow(items: list[int]) -> AsyncIterator[tuple[int, int]]:
        try:
            yield 0, items[0]
            await asyncio.sleep(3600)
        finally:
            ended.set()

    batcher = Batcher(slow)
    asked = [asyncio.create_task(batcher.ask(number)) for number in range(3)]
    await asked[0]
    asked[1].cancel()
    await asyncio.sleep(0.01)
    assert not ended.is_set()
    asked[2].cancel()
    await asyncio.wait_for(ended.wait(), 60)


async def test_abandoning_tells_everybody_why_and_the_batcher_works_on() -> None:
    doubler = Doubler()
    doubler.gate.clear()
    batcher = Batcher(doubler.answer, calls=1)
    asked = [asyncio.create_task(batcher.ask(1))]
    await asyncio.sleep(0.01)
    asked.append(asyncio.create_task(batcher.ask(2)))
    await asyncio.sleep(0.01)
    batcher.abandon("it fell silent")
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [(type(one), str(one)) for one in found] == [(Unanswered, "it fell silent")] * 2
    doubler.gate.set()
    assert await batcher.ask(3) == 6


async def test_items_given_up_before_their_call_are_left_out() -> None:
    doubler = Doubler()
    batcher = Batcher(doubler.answer)
    given_up, wanted = asyncio.create_task(batcher.ask(1)), asyncio.create_task(batcher.ask(2))
    await asyncio.sleep(0)
    given_up.cancel()
    assert await wanted == 4
    assert doubler.batches == [[2]]
    with pytest.raises(asyncio.CancelledError):
        await given_up


async def test_a_call_belongs_to_the_first_that_is_traced_and_is_linked_to_the_others(
    spans: InMemorySpanExporter,
) -> None:
    async def answer(items: list[str]) -> AsyncIterator[tuple[int, str]]:
        with tracing.span("call"):
            for place, item in enumerate(items):
                yield place, item

    batcher = Batcher(answer)

    async def ask(name: str, traced: bool) -> None:
        with tracing.span(name, root=traced):
            await batcher.ask(name)

    await asyncio.gather(ask("untraced", False), ask("first", True), ask("second", True))
    found: dict[str, Any] = {span.name: span for span in spans.get_finished_spans()}
    assert found.keys() == {"first", "second", "call"}
    assert found["call"].parent.span_id == found["first"].context.span_id
    assert [link.context.span_id for link in found["call"].links] == [found["second"].context.span_id]
