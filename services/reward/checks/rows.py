"""The rows of checks: claimed, kept while verdicts come, and settled. A run learns of each end by an event."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hone.algorithms.agreement import Agreement, pooled
from hone.graders.labelled_pairs import MASTER_KEY
from hone.graders.specs import Spec, spec
from hone.process.line import Turn
from hone.rpc import outage
from hone.store.database import AsyncDatabase, AsyncTransaction, Row
from hone.telemetry import metrics

LEASE_S = 60.0
"""Seconds after which a check whose service is silent is another one's."""
UNKNOWN = "?"
"""The verdict of a pair that is still to be judged. The others are y, n, and x for none."""
_WAIT_S = 60.0

Counts = Mapping[str, Agreement]
"""Counts of verdicts by kind of pairs."""


@dataclass(frozen=True)
class GraderCheck:
    """A check that this service has taken."""

    id: str
    tenant_id: str
    key_id: str | None
    run_id: str | None
    first: bool  # of the run and this grader
    label: str  # which of the run's graders it is, where it has several
    step: int | None
    spec: Spec
    set_name: str
    attempts: int  # this one included

    @property
    def turn(self) -> Turn:
        """Whose time its questions use. What a run asked for counts to the run, with the limits of its judges."""
        return Turn(self.run_id or f"check/{self.id}", _WAIT_S, self.tenant_id, self.key_id or "", anew=True)


@dataclass
class CheckProgress:
    """What a check has so far, of one set and of one state of its judges."""

    set_hash: str
    judges: dict[str, str]
    verdicts: list[str]
    seconds: float = 0.0
    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def pending(self) -> list[int]:
        """Places of the pairs without a verdict."""
        return [place for place, verdict in enumerate(self.verdicts) if verdict == UNKNOWN]


class CheckRows:
    """Each method raises NotReady, with the reason, while the database is away."""

    def __init__(self, database: AsyncDatabase, owner: str) -> None:
        self._database, self._owner = database, owner

    async def claim(self, count: int) -> list[tuple[GraderCheck, CheckProgress]]:
        """Take up to `count` checks that are due, with what earlier attempts left."""
        with outage.reported():
            rows = await self._database.all("grader_checks.claim", count=count, owner=self._owner, lease_s=LEASE_S)
        return [(_check(row), CheckProgress(row["set_hash"], row["judges"], list(row["verdicts"]), row["seconds"],
                                            dict(row["tokens"]))) for row in rows]

    async def earlier(self, check: GraderCheck, progress: CheckProgress) -> Row | None:
        """Return the id, verdicts and counts of a check that says the same: same grader, same set, same judges."""
        with outage.reported():
            return await self._database.one(
                "grader_checks.earlier", tenant_id=check.tenant_id, grader_hash=check.spec.hash,
                set_hash=progress.set_hash, judges=json.dumps(progress.judges))

    async def keep(self, check: GraderCheck, progress: CheckProgress) -> bool:
        """Store verdicts so far and keep the check. Return False if it is this service's no more."""
        with outage.reported():
            row = await self._database.one(
                "grader_checks.keep", **self._key(check), set_hash=progress.set_hash, lease_s=LEASE_S,
                judges=json.dumps(progress.judges), verdicts="".join(progress.verdicts), seconds=progress.seconds,
                tokens=json.dumps(progress.tokens))
        return row is not None

    async def again(self, check: GraderCheck, after_s: float, reason: str) -> None:
        """Have a check taken again later. Its run has one event of that."""
        metrics.GRADER_CHECKS.labels("repeated").inc()
        with outage.reported():
            async with self._database.transaction() as opened:
                kept = await opened.one("grader_checks.again", **self._key(check), after_s=after_s,
                                        reason=reason[:2000])
                if kept and check.run_id:
                    await opened.run(
                        "events.add_once", tenant_id=check.tenant_id, run_id=check.run_id, kind="judge.unchecked",
                        step=check.step, of=check.id, data=json.dumps({"of": check.id}),
                        message=f"the judge cannot be checked: {reason[:1000]}. The check is repeated, the run waits.")
                    await opened.one("server.notify", channel="runs", payload=check.run_id)

    async def fail(self, check: GraderCheck, reason: str) -> None:
        """End a check that cannot be made."""
        metrics.GRADER_CHECKS.labels("failed").inc()
        with outage.reported():
            async with self._database.transaction() as opened:
                await self._finish(opened, check, "failed", reason[:2000], {}, None)

    async def done(self, check: GraderCheck, counts: Counts, copied_from: str | None = None) -> None:
        """End a check with its counts. Its run has an event and metrics of them."""
        metrics.GRADER_CHECKS.labels("copied" if copied_from else "done").inc()
        with outage.reported():
            async with self._database.transaction() as opened:
                kept = await self._finish(opened, check, "done", None, counts, copied_from)
                if kept and check.run_id:
                    await _record(opened, check, counts)

    async def release(self) -> None:
        """Let others take the checks that a process of this name has."""
        with outage.reported():
            await self._database.run("grader_checks.release", owner=self._owner)

    async def _finish(
        self, opened: AsyncTransaction, check: GraderCheck, state: str, reason: str | None, counts: Counts,
        copied_from: str | None,
    ) -> bool:
        stored = {kind: vars(one) for kind, one in counts.items()}
        row = await opened.one("grader_checks.finish", **self._key(check), state=state, reason=reason,
                               counts=json.dumps(stored), copied_from=copied_from)
        if row and check.run_id:
            await opened.one("server.notify", channel="runs", payload=check.run_id)
        return row is not None

    def _key(self, check: GraderCheck) -> dict[str, Any]:
        return {"id": check.id, "owner": self._owner, "attempts": check.attempts}


def _check(row: Row) -> GraderCheck:
    return GraderCheck(row["id"], row["tenant_id"], row["key_id"], row["run_id"], row["first"], row["label"],
                       row["step"], spec(row["grader"]), row["set_name"], row["attempts"])


async def _record(opened: AsyncTransaction, check: GraderCheck, counts: Counts) -> None:
    """Record an event of a run's check, and its metrics at the step that was planned last."""
    whole, keys = pooled(counts.values()), counts.get(MASTER_KEY, Agreement())
    prefix, of = (f"judge/{check.label}/", f" of {check.label}") if check.label else ("judge/", "")
    values = {f"{prefix}{name}": value for name, value in (
        ("gap", whole.gap), ("false_accepts", whole.false_accepts), ("false_refusals", whole.false_refusals),
        ("key_accepts", keys.false_accepts)) if value is not None}
    words = ", ".join(f"{name.removeprefix(prefix).replace('_', ' ')} {value:.3f}" for name, value in values.items())
    await opened.run("metrics.record", run_id=check.run_id, tenant_id=check.tenant_id, step=check.step,
                     names=list(values), values=list(values.values()))
    await opened.run(
        "events.add_of_step", tenant_id=check.tenant_id, run_id=check.run_id, kind="judge.checked", step=check.step,
        message=f"the judge{of} was checked on {whole.total} pairs of {check.set_name}: {words}; "
                f"{whole.invalid} without a verdict",
        data=json.dumps({"of": check.id, **values}))
