"""Works on checks of graders: every pair of a labelled set is graded as a sample is, and judges are asked anew."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from hone.algorithms.agreement import Agreement, Verdict, counted
from hone.graders.contract import Result, Status
from hone.graders.error_kinds import ErrorKind, error_kind
from hone.graders.labelled_pairs import Pair
from hone.graders.questions import JudgeFailed
from hone.graders.sample import Sent
from hone.graders.specs import Spec
from hone.judges.asking import AskedJudges
from hone.process import ending
from hone.process.line import StillWaiting
from hone.rpc.errors import NotReady
from hone.spec.problems import Invalid, Problem
from hone.store.objects import StoreAway
from services.reward.checks.rows import UNKNOWN, CheckProgress, CheckRows, Counts, GraderCheck
from services.reward.checks.sets import LabelledSet, LabelledSets
from services.reward.grading import Grading

_AT_ONCE, _PAIRS_AT_ONCE = 2, 16
"""Checks in work, and pairs of a check; judges have limits of their own."""
_LOOK_S, _KEEP_S = 0.5, 2.0
"""Seconds between two looks for checks, and between two times that verdicts are stored."""
_PAUSES_S = (1.0, 5.0, 15.0, 60.0)
"""Seconds before a check is taken again that could not be made. One that no run waits for is given up after the last.
"""
_SAID: dict[str, Verdict] = {"y": True, "n": False, "x": None}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckParts:
    """What checks are made with."""

    grading: Grading
    judges: AskedJudges
    rows: CheckRows
    sets: LabelledSets


@dataclass
class _Work:
    """A check in work. Once one pair has no verdict for the system's reasons, no other pair is begun."""

    check: GraderCheck
    pairs: LabelledSet
    progress: CheckProgress
    trouble: str = ""


class GraderChecks:
    """Takes checks that are due, and works on a few at a time."""

    def __init__(self, parts: CheckParts) -> None:
        self._parts = parts
        self._working = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work until the context ends; then others may take what is not done."""
        with suppress(NotReady):
            await self._parts.rows.release()  # of an earlier process of this name
        taking = asyncio.create_task(self._take_forever())
        try:
            yield
        finally:
            await ending.cancelled([taking, *self._working])
            with suppress(NotReady):
                await self._parts.rows.release()

    async def _take_forever(self) -> None:
        while True:
            try:
                await self._take(_AT_ONCE - len(self._working))
            except NotReady as away:
                _log.warning("no checks of graders are taken: %s", away)
            except Exception:  # of one row: those that are due after it are taken at the next looks
                _log.exception("a check of a grader cannot be taken")
            await asyncio.sleep(_LOOK_S)

    async def _take(self, free: int) -> None:
        for check, left in await self._parts.rows.claim(free) if free else []:
            task = asyncio.create_task(self._work(check, left))
            self._working.add(task)
            task.add_done_callback(self._working.discard)

    async def _work(self, check: GraderCheck, left: CheckProgress) -> None:
        """Make a check, or say why it has to be made later. While the database is away its lease ends by itself."""
        rows = self._parts.rows
        try:
            await self._made(check, left)
        except Invalid as unfit:
            await rows.fail(check, str(unfit))
        except (JudgeFailed, StoreAway) as away:
            await self._later(check, str(away))
        except NotReady as away:
            _log.warning("the check %s is taken again: %s", check.id, away)
        except Exception as error:
            _log.exception("the check %s fails", check.id)
            await self._later(check, f"{type(error).__name__}: {error}")

    async def _later(self, check: GraderCheck, reason: str) -> None:
        if check.run_id is None and check.attempts > len(_PAUSES_S):
            await self._parts.rows.fail(check, reason)
        else:
            await self._parts.rows.again(check, _PAUSES_S[min(check.attempts, len(_PAUSES_S)) - 1], reason)

    async def _made(self, check: GraderCheck, left: CheckProgress) -> None:
        """Make a check. Raises Invalid where grader and set do not fit, JudgeFailed, NotReady, StoreAway."""
        labelled = await self._parts.sets.read(check.tenant_id, check.set_name)
        answering = partial(self._parts.judges.answering, check.spec.judges, check.turn)
        judges = await answering()
        same = left.set_hash == labelled.hash and left.judges == judges and len(left.verdicts) == len(labelled.pairs)
        progress = left if same else CheckProgress(labelled.hash, judges, [UNKNOWN] * len(labelled.pairs))
        if check.first and all(judges.values()) and await self._copied(check, labelled, progress):
            return
        work = _Work(check, labelled, progress)
        if not await self._judged(work):
            return
        if work.trouble:
            await self._later(check, f"{len(progress.pending)} of {len(labelled.pairs)} pairs have no verdict: "
                              f"{work.trouble}")
        elif await answering() != judges:
            await self._later(check, "the judge changed while it was checked")
        else:
            await self._parts.rows.done(check, counts(labelled, progress.verdicts))

    async def _copied(self, check: GraderCheck, labelled: LabelledSet, progress: CheckProgress) -> bool:
        """End the first check of a run with what an earlier one of the same grader and judges found, if there is one.
        """
        known = await self._parts.rows.earlier(check, progress)
        if known is None:
            return False
        progress.verdicts = list(known["verdicts"])
        if await self._parts.rows.keep(check, progress):
            await self._parts.rows.done(check, counts(labelled, progress.verdicts), copied_from=known["id"])
        return True

    async def _judged(self, work: _Work) -> bool:
        """Ask for the missing verdicts and store them as they come. Return False if the check is another service's.

        Raises Invalid where the grader cannot read the set's rows.
        """
        places, began, before = iter(work.progress.pending), time.monotonic(), work.progress.seconds
        pending = {asyncio.create_task(self._judge(work, places)) for _ in range(_PAIRS_AT_ONCE)}
        try:
            while True:
                done, pending = await asyncio.wait(pending, timeout=_KEEP_S)
                for task in done:
                    task.result()
                work.progress.seconds = before + time.monotonic() - began
                if not await self._parts.rows.keep(work.check, work.progress):
                    return False
                if not pending:
                    return True
        finally:
            await ending.cancelled(pending)

    async def _judge(self, work: _Work, places: Iterator[int]) -> None:
        for place in places:
            if work.trouble:
                return
            try:
                result = await self._graded(work.check, work.pairs.pairs[place])
            except StillWaiting as busy:
                work.trouble = str(busy)
                return
            _note(work, place, result)

    async def _graded(self, check: GraderCheck, pair: Pair) -> Result:
        [result] = await self._parts.grading.grade(
            check.spec, (Sent(json.dumps(pair.item), pair.output),), check.turn)
        return result


def _note(work: _Work, place: int, result: Result) -> None:
    """Note the verdict that a grade is, or why there is none yet. Raises Invalid where the grader cannot read the row.
    """
    said, why = verdict_of(work.check.spec, result), "; ".join(result.reasons)
    if result.status is Status.INVALID_SPEC:
        raise Invalid([Problem("set", f"pair {place + 1}: {why}", "pairs whose items this grader reads")])
    work.progress.verdicts[place] = said
    if said == UNKNOWN:
        work.trouble = why or result.status.value
    for model, tokens in result.tokens.items():
        work.progress.tokens[model] = work.progress.tokens.get(model, 0) + tokens


def verdict_of(spec: Spec, result: Result) -> str:
    """Return what a grade says of an output: y for a score above the middle of the grader's range, or else n.

    x: the judge gave no verdict that could be read. It is unknown where the system failed.
    """
    if result.score is not None:
        return "y" if result.score > sum(spec.bounds) / 2 else "n"
    readable = error_kind(result.status, result.reasons) is not ErrorKind.MODEL_SERVER
    return "x" if result.status is Status.JUDGE_ERROR and readable else UNKNOWN


def counts(labelled: LabelledSet, verdicts: list[str]) -> Counts:
    """Return the counts of verdicts by kind, in the order of the set."""
    by_kind: dict[str, Agreement] = {}
    for pair, verdict in zip(labelled.pairs, verdicts, strict=True):
        by_kind[pair.kind] = by_kind.get(pair.kind, Agreement()) + counted([pair.right], [_SAID[verdict]])
    return by_kind
