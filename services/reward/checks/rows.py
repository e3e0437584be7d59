"""The rows of checks: begun, kept while verdicts come, and ended. A run learns of each end by an event."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from hone.algorithms.agreement import Agreement, pooled
from hone.graders.labelled_pairs import MASTER_KEY
from hone.graders.specs import Spec, spec
from hone.jobs.job import Again, Done, Failed, Job, Outcome
from hone.jobs.rows import LONGEST_REASON
from hone.process.line import Turn
from hone.rpc import outage
from hone.store.database import AsyncDatabase, AsyncTransaction, Row
from hone.telemetry import metrics

UNKNOWN = "?"
"""The verdict of a pair that is still to be judged. The others are y, n, and x for none."""
_WAIT_S = 60.0

Counts = Mapping[str, Agreement]
"""Counts of verdicts by kind of pairs."""


@dataclass(frozen=True)
class GraderCheck:
    """A check that this service has begun."""

    id: str
    tenant_id: str
    key_id: str | None
    run_id: str | None
    first: bool  # of the run and this grader
    spec: Spec
    set_name: str
    job: Job

    @property
    def turn(self) -> Turn:
        """Whose time its questions use. What a run asked for counts to the run, with the limits of its judges."""
        return Turn(self.run_id or f"check/{self.id}", _WAIT_S, self.tenant_id, self.key_id or "", anew=True)


@dataclass
class CheckProgress:
    """The verdicts of a check so far, on one set and by one state of its judges."""

    set_hash: str
    judges: dict[str, str]
    verdicts: list[str]
    seconds: float = 0.0
    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def pending(self) -> list[int]:
        """Places of the pairs without a verdict."""
        return [place for place, verdict in enumerate(self.verdicts) if verdict == UNKNOWN]


@dataclass(frozen=True)
class CheckFound:
    """The counts of a check, its own or an equal earlier check's."""

    counts: Counts
    copied_from: str | None = None


class CheckRows:
    """Each method raises NotReady, with the reason, while the database is away."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def begin(self, job: Job) -> tuple[GraderCheck, CheckProgress] | None:
        """Return the check of a job, with what earlier attempts left; None if nobody needs it any more."""
        with outage.reported():
            row = await self._database.one("grader_checks.begin", id=job.subject)
        return None if row is None else (_check(row, job), CheckProgress(
            row["set_hash"], row["judges"], list(row["verdicts"]), row["seconds"], dict(row["tokens"])))

    async def earlier(self, check: GraderCheck, progress: CheckProgress) -> Row | None:
        """Return the id, verdicts and counts of a check that says the same: same grader, same set, same judges."""
        with outage.reported():
            return await self._database.one(
                "grader_checks.earlier", tenant_id=check.tenant_id, grader_hash=check.spec.hash,
                set_hash=progress.set_hash, judges=json.dumps(progress.judges))

    async def keep(self, check: GraderCheck, progress: CheckProgress) -> bool:
        """Store verdicts so far. Return False if another service has the check, or nobody needs it any more."""
        with outage.reported():
            row = await self._database.one(
                "grader_checks.keep", id=check.id, **check.job.fence, set_hash=progress.set_hash,
                judges=json.dumps(progress.judges), verdicts="".join(progress.verdicts), seconds=progress.seconds,
                tokens=json.dumps(progress.tokens))
        return row is not None


async def record(opened: AsyncTransaction, job: Job, outcome: Outcome) -> None:
    """Write the state of a check after an attempt. Its run has events and metrics of it, and is woken."""
    match outcome:
        case Again():
            kept = await opened.one("grader_checks.again", id=job.subject, reason=outcome.reason[:LONGEST_REASON])
            ended = "repeated"
            if kept and kept["run_id"]:
                await _note_pause(opened, job, kept, outcome.reason)
        case Failed():
            kept = await _finish(opened, job, "failed", outcome.reason[:LONGEST_REASON], CheckFound({}))
            ended = "failed"
        case Done(found=CheckFound() as found):
            kept = await _finish(opened, job, "done", None, found)
            ended = "copied" if found.copied_from else "done"
            if kept and kept["run_id"]:
                await _note_end(opened, job, kept, found.counts)
        case Done():
            return
    metrics.GRADER_CHECKS.labels(ended).inc()
    if kept and kept["run_id"]:
        await opened.one("server.notify", channel="runs", payload=kept["run_id"])


async def _finish(opened: AsyncTransaction, job: Job, state: str, reason: str | None, found: CheckFound) -> Row | None:
    stored = {kind: vars(one) for kind, one in found.counts.items()}
    return await opened.one("grader_checks.finish", id=job.subject, state=state, reason=reason,
                            counts=json.dumps(stored), copied_from=found.copied_from)


def _check(row: Row, job: Job) -> GraderCheck:
    return GraderCheck(row["id"], row["tenant_id"], row["key_id"], row["run_id"], row["first"],
                       spec(row["grader"]), row["set_name"], job)


async def _note_pause(opened: AsyncTransaction, job: Job, check: Row, reason: str) -> None:
    """Record that a run waits for a check. There is one event of each check."""
    await opened.run(
        "events.add_once", tenant_id=job.tenant_id, run_id=check["run_id"], kind="judge.unchecked", step=check["step"],
        of=job.subject, data=json.dumps({"of": job.subject}),
        message=f"the judge cannot be checked: {reason[:1000]}. The check is repeated, the run waits.")


async def _note_end(opened: AsyncTransaction, job: Job, check: Row, counts: Counts) -> None:
    """Record an event of a run's check, and its metrics at the step that was planned last."""
    whole, keys, label = pooled(counts.values()), counts.get(MASTER_KEY, Agreement()), check["label"]
    prefix, of = (f"judge/{label}/", f" of {label}") if label else ("judge/", "")
    values = {f"{prefix}{name}": value for name, value in (
        ("gap", whole.gap), ("false_accepts", whole.false_accepts), ("false_refusals", whole.false_refusals),
        ("key_accepts", keys.false_accepts)) if value is not None}
    words = ", ".join(f"{name.removeprefix(prefix).replace('_', ' ')} {value:.3f}" for name, value in values.items())
    await opened.run("metrics.record", run_id=check["run_id"], tenant_id=job.tenant_id, step=check["step"],
                     names=list(values), values=list(values.values()))
    await opened.run(
        "events.add_of_step", tenant_id=job.tenant_id, run_id=check["run_id"], kind="judge.checked", step=check["step"],
        message=f"the judge{of} was checked on {whole.total} pairs of {check['set_name']}: {words}; "
                f"{whole.invalid} without a verdict",
        data=json.dumps({"of": job.subject, **values}))
