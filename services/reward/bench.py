"""Where samples are graded: fast graders here, others in the pool, with what was done kept as it comes."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from hone.graders.judgement import judged
from hone.graders.results import Result, Status
from hone.graders.specs import Spec
from services.reward.pool import Job, Pool

BACKOFF_S = (1.0, 2.0)
YIELD_S = 0.2

Key = tuple[int, int]
"""Group id and index: the name of a trajectory."""


Pair = tuple[str, str]
"""Task row as JSON, and output."""


@dataclass(frozen=True)
class Sample:
    """One output to be graded, with its task row as JSON."""

    key: Key
    item: str
    output_text: str
    truncated: bool = False


class Bench:
    """Grades samples. Equal outputs of equal rows are graded once: a grader is a pure function."""

    def __init__(self, pool: Pool, backoff_s: Sequence[float] = BACKOFF_S) -> None:
        self._pool, self._backoff_s = pool, backoff_s

    async def grade(self, spec: Spec, item: str, output_text: str) -> Result:
        """Return one grade. infra_error is tried again after each pause of `backoff_s`, then returned."""
        if not spec.grader.pooled:
            row = json.loads(item)
            if spec.grader.wait_s is not None:
                await asyncio.sleep(spec.grader.wait_s(row, spec.params))
            return judged(spec, row, output_text)
        job = Job(spec.json, item, output_text)
        result = await self._pool.grade(job)
        for pause_s in self._backoff_s:
            if result.status is not Status.INFRA_ERROR:
                break
            await asyncio.sleep(pause_s)
            result = await self._pool.grade(job)
        return result

    async def batches(self, spec: Spec, samples: Sequence[Sample]) -> AsyncIterator[dict[Key, Result]]:
        """Yield the grades in batches: at once where the grader is fast, else whatever each `YIELD_S` brought.

        So a caller that stores each batch keeps what was done even when its deadline ends the rest.
        """
        same: dict[Pair, list[Sample]] = defaultdict(list)
        for sample in samples:
            same[sample.item, sample.output_text].append(sample)
        slow = spec.grader.pooled or spec.grader.wait_s is not None
        async for results in self._one_by_one(spec, list(same)) if slow else _inline(spec, list(same)):
            yield {sample.key: _flagged(result, sample) for pair, result in results.items() for sample in same[pair]}

    async def _one_by_one(self, spec: Spec, pairs: Sequence[Pair]) -> AsyncIterator[dict[Pair, Result]]:
        running = {asyncio.ensure_future(self.grade(spec, *pair)): pair for pair in pairs}
        pending = set(running)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=YIELD_S)
                yield {running[task]: task.result() for task in done}
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)


async def _inline(spec: Spec, pairs: Sequence[Pair]) -> AsyncIterator[dict[Pair, Result]]:
    rows = {item: json.loads(item) for item, _ in pairs}
    yield {pair: judged(spec, rows[pair[0]], pair[1]) for pair in pairs}


def _flagged(result: Result, sample: Sample) -> Result:
    return replace(result, reasons=(*result.reasons, "truncated")) if sample.truncated else result
