"""Grading of samples: fast graders run in this process, those that can hang in the pool.

Grades come in batches as they are made.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace

from hone.graders.contract import Result, Status, failure
from hone.graders.judgement import grades, judged_together
from hone.graders.sample import Reads, Sample, Sent, received, sent_again
from hone.graders.specs import Spec
from hone.process.line import StillWaiting, Turn
from services.reward.pool import Job, Pool
from services.reward.tools import Helpers, ServiceTools

BACKOFF_S = (1.0, 2.0)
"""Pauses before the repetitions of a grade that ended as infra_error."""
YIELD_S = 0.2
"""Seconds between two batches of a slow grader."""

Key = tuple[int, int]
"""Group id and index of a trajectory."""
Unit = tuple[Sent, ...]
"""Samples that are graded together: one, or a whole group for a grader that reads groups."""


class Grading:
    """Grades samples. Equal samples are graded once, because a grader is a pure function of what it reads."""

    def __init__(self, pool: Pool, helpers: Helpers = Helpers(), backoff_s: Sequence[float] = BACKOFF_S) -> None:
        self._pool, self._helpers, self._backoff_s = pool, helpers, backoff_s

    async def grade(self, spec: Spec, unit: Unit, turn: Turn = Turn()) -> list[Result]:
        """Return the grades of a unit. Those of infra_error are tried again after each pause of `backoff_s`.

        Raises StillWaiting if no process, or no judge, is free within the turn's time.
        """
        if spec.grader.wait_s is not None:
            await asyncio.sleep(spec.grader.wait_s(json.loads(unit[0].item or "{}"), spec.params))
        if not spec.pooled and not spec.needs:
            return (await asyncio.to_thread(_judged, spec, [unit]))[unit]
        results = await self.once(spec, unit, turn)
        for pause_s in self._backoff_s:
            if all(result.status is not Status.INFRA_ERROR for result in results):
                break
            await asyncio.sleep(pause_s)
            results = await self.once(spec, unit, turn)
        return results

    async def once(self, spec: Spec, unit: Unit, turn: Turn) -> list[Result]:
        """Return a unit's grades after one attempt, by a grader of the pool or one that waits. Raises StillWaiting."""
        if not spec.needs:
            return await self._pool.grade(Job(spec.json, unit, turn))
        try:
            async with asyncio.timeout(spec.limit_s):
                return await grades(spec, received(unit), ServiceTools(spec, turn, self._inside, self._helpers))
        except TimeoutError:
            return [failure(Status.TIMEOUT_GRADER, f"the grader took longer than {spec.limit_s:g} s")] * len(unit)

    async def _inside(self, spec: Spec, sample: Sample, turn: Turn) -> Result:
        """Return the grade of a sample by a grader inside of another one."""
        [result] = await self.grade(spec, (sent_again(sample),), turn)
        return result

    async def batches(
        self, spec: Spec, samples: Mapping[Key, Sent], turn: Turn = Turn(),
    ) -> AsyncIterator[dict[Key, Result]]:
        """Yield the grades in batches: a fast grader's at once, a slow grader's every `YIELD_S`.

        A caller that stores each batch keeps finished grades even if its deadline ends the rest. Raises StillWaiting,
        after all other grades, if samples found no free process within the turn's time. Of equal units only the first
        has a cost.
        """
        same: dict[Unit, list[list[Key]]] = defaultdict(list)
        for keys in units(spec, samples):
            same[tuple(samples[key] for key in keys)].append(keys)
        slow = spec.pooled or bool(spec.needs) or spec.grader.wait_s is not None
        async for results in self._slowly(spec, list(same), turn) if slow else _atonce(spec, list(same)):
            yield {key: _of_sample(result, samples[key], first=not place)
                   for unit, found in results.items() for place, keys in enumerate(same[unit])
                   for key, result in zip(keys, found, strict=True)}

    async def _slowly(
        self, spec: Spec, units: Sequence[Unit], turn: Turn
    ) -> AsyncIterator[dict[Unit, list[Result]]]:
        running = {asyncio.ensure_future(self.grade(spec, unit, turn)): unit for unit in units}
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


def units(spec: Spec, samples: Iterable[Key]) -> list[list[Key]]:
    """Return the samples that are graded together."""
    if Reads.GROUP not in spec.reads:
        return [[key] for key in samples]
    groups: dict[int, list[Key]] = defaultdict(list)
    for key in samples:
        groups[key[0]].append(key)
    return list(groups.values())


async def _atonce(spec: Spec, units: Sequence[Unit]) -> AsyncIterator[dict[Unit, list[Result]]]:
    yield await asyncio.to_thread(_judged, spec, units)


def _judged(spec: Spec, units: Sequence[Unit]) -> dict[Unit, list[Result]]:
    """Judge units, in a thread: large rows take a while, and other calls go on meanwhile."""
    samples = iter(received(sent for unit in units for sent in unit))
    return {unit: judged_together(spec, [next(samples) for _ in unit]) for unit in units}


def _of_sample(result: Result, sample: Sent, first: bool) -> Result:
    """Return the grade of one of several equal samples."""
    if first and not sample.truncated:
        return result
    reasons = (*result.reasons, "truncated") if sample.truncated else result.reasons
    return replace(result, reasons=reasons, cost_ms=result.cost_ms if first else 0.0)
