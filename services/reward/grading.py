"""Grading of samples: fast graders run in this process, others in the pool. Grades come in batches as they are made."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.specs import Spec
from services.reward.pool import Job, Pool, StillWaiting, Turn

BACKOFF_S = (1.0, 2.0)
"""Pauses before the repetitions of a grade that ended as infra_error."""
YIELD_S = 0.2
"""Seconds between two batches of a slow grader."""

Key = tuple[int, int]
"""Group id and index of a trajectory."""
Pair = tuple[str, str]
"""A task row as JSON, and an output."""


@dataclass(frozen=True)
class Sample:
    """An output to be graded."""

    key: Key
    item: str  # the task row as JSON
    output_text: str
    truncated: bool = False  # the output reached max_tokens


class Grading:
    """Grades samples. Equal outputs of equal rows are graded once, because a grader is a pure function."""

    def __init__(self, pool: Pool, backoff_s: Sequence[float] = BACKOFF_S) -> None:
        self._pool, self._backoff_s = pool, backoff_s

    async def grade(self, spec: Spec, item: str, output_text: str, turn: Turn = Turn()) -> Result:
        """Return one grade. A grade of infra_error is repeated after each pause of `backoff_s`, then returned.

        Raises StillWaiting if no process is free within the turn's time.
        """
        if not spec.grader.pooled:
            row = json.loads(item)
            if spec.grader.wait_s is not None:
                await asyncio.sleep(spec.grader.wait_s(row, spec.params))
            return await asyncio.to_thread(judged, spec, row, output_text)
        job = Job(spec.json, item, output_text, turn)
        result = await self._pool.grade(job)
        for pause_s in self._backoff_s:
            if result.status is not Status.INFRA_ERROR:
                break
            await asyncio.sleep(pause_s)
            result = await self._pool.grade(job)
        return result

    async def batches(
        self, spec: Spec, samples: Sequence[Sample], turn: Turn = Turn(),
    ) -> AsyncIterator[dict[Key, Result]]:
        """Yield the grades in batches: a fast grader's at once, a slow grader's every `YIELD_S`.

        A caller that stores each batch keeps finished grades even if its deadline ends the rest. Raises StillWaiting,
        after all other grades, if samples found no free process within the turn's time. Of equal samples only the first
        has a cost.
        """
        same: dict[Pair, list[Sample]] = defaultdict(list)
        for sample in samples:
            same[sample.item, sample.output_text].append(sample)
        slow = spec.grader.pooled or spec.grader.wait_s is not None
        async for results in self._slowly(spec, list(same), turn) if slow else _at_once(spec, list(same)):
            yield {sample.key: _of_sample(result, sample, first=not place)
                   for pair, result in results.items() for place, sample in enumerate(same[pair])}

    async def _slowly(self, spec: Spec, pairs: Sequence[Pair], turn: Turn) -> AsyncIterator[dict[Pair, Result]]:
        running = {asyncio.ensure_future(self.grade(spec, *pair, turn)): pair for pair in pairs}
        pending, waited = set(running), list[StillWaiting]()
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=YIELD_S)
                waited += [error for task in done if isinstance(error := task.exception(), StillWaiting)]
                yield {running[task]: task.result() for task in done
                       if not isinstance(task.exception(), StillWaiting)}
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        if waited:
            raise waited[-1]


async def _at_once(spec: Spec, pairs: Sequence[Pair]) -> AsyncIterator[dict[Pair, Result]]:
    yield await asyncio.to_thread(_judged, spec, pairs)


def _judged(spec: Spec, pairs: Sequence[Pair]) -> dict[Pair, Result]:
    """Judge outputs, in a thread: large rows take a while, and other calls go on meanwhile."""
    rows = {item: json.loads(item) for item, _ in pairs}
    return {pair: judged(spec, rows[pair[0]], pair[1]) for pair in pairs}


def _of_sample(result: Result, sample: Sample, first: bool) -> Result:
    """Return the grade of one of several equal samples."""
    reasons = (*result.reasons, "truncated") if sample.truncated else result.reasons
    return replace(result, reasons=reasons, cost_ms=result.cost_ms if first else 0.0)
