"""Checks graders: every pair of a labelled set is graded as a sample is, and judges are asked anew."""

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from hone.algorithms.agreement import Agreement, Verdict, counted
from hone.graders.contract import Result, Status
from hone.graders.error_kinds import ErrorKind, error_kind
from hone.graders.labelled_pairs import Pair
from hone.graders.questions import JudgeFailed
from hone.graders.sample import Sent
from hone.graders.specs import Spec
from hone.jobs.job import Again, Done, Failed, Job, Kind, Outcome
from hone.judges.asking import AskedJudges
from hone.process import ending
from hone.process.line import StillWaiting
from hone.rpc.errors import NotReady
from hone.spec.problems import Invalid, Problem
from hone.store.objects import StoreAway
from services.reward.checks import rows
from services.reward.checks.rows import UNKNOWN, CheckFound, CheckProgress, CheckRows, Counts, GraderCheck
from services.reward.checks.sets import LabelledSet, LabelledSets
from services.reward.grading import Grading

_AT_ONCE, _PAIRS_AT_ONCE = 2, 16
"""Checks in work, and pairs of a check; judges have limits of their own."""
_KEEP_S = 2.0
"""Seconds between two times that verdicts are stored."""
_PAUSES_S = (1.0, 5.0, 15.0, 60.0)
"""Seconds before a check is taken again that could not be made. One that no run waits for is given up after the last.
"""
_SAID: dict[str, Verdict] = {"y": True, "n": False, "x": None}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckParts:
    """The services and rows that a check is made with."""

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
    """The kind of jobs that check graders."""

    def __init__(self, parts: CheckParts) -> None:
        self._parts = parts
        self.kind = Kind(self._work, rows.record, at_once=_AT_ONCE, pauses_s=_PAUSES_S)

    async def _work(self, job: Job) -> Outcome:
        """Make a check, or say why it has to be made later. Raises NotReady while the database is away."""
        begun = await self._parts.rows.begin(job)
        if begun is None:
            return Done()
        check, left = begun
        try:
            return await self._made(check, left)
        except Invalid as unfit:
            return Failed(str(unfit))
        except (JudgeFailed, StoreAway) as away:
            return _later(check, str(away))
        except NotReady:
            raise
        except Exception as error:
            _log.exception("the check %s fails", check.id)
            return _later(check, f"{type(error).__name__}: {error}")

    async def _made(self, check: GraderCheck, left: CheckProgress) -> Outcome:
        """Make a check. Raises Invalid where grader and set do not fit, JudgeFailed, NotReady, StoreAway."""
        labelled = await self._parts.sets.read(check.tenant_id, check.set_name)
        answering = partial(self._parts.judges.answering, check.spec.judges, check.turn)
        judges = await answering()
        same = left.set_hash == labelled.hash and left.judges == judges and len(left.verdicts) == len(labelled.pairs)
        progress = left if same else CheckProgress(labelled.hash, judges, [UNKNOWN] * len(labelled.pairs))
        if check.first and all(judges.values()) and (known := await self._parts.rows.earlier(check, progress)):
            progress.verdicts = list(known["verdicts"])
            await self._parts.rows.keep(check, progress)
            return Done(CheckFound(counts(labelled, progress.verdicts), copied_from=known["id"]))
        work = _Work(check, labelled, progress)
        if not await self._judged(work):
            return Done()
        if work.trouble:
            return _later(check, f"{len(progress.pending)} of {len(labelled.pairs)} pairs have no verdict: "
                                 f"{work.trouble}")
        if await answering() != judges:
            return _later(check, "the judge changed while it was checked")
        return Done(CheckFound(counts(labelled, progress.verdicts)))

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


def _later(check: GraderCheck, reason: str) -> Again:
    """Return when a check is made again. A run waits for its check however often it cannot be made."""
    return Again(reason, _PAUSES_S[min(check.job.attempts, len(_PAUSES_S)) - 1] if check.run_id else None)


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
    """Return the verdict of a grade on an output: y for a score above the middle of the grader's range, or else n.

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
