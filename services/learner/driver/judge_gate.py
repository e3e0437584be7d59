"""The gate of a run's judges: they are measured on labels before the first step and again; a bad one stops the run.

That is each grader that trains and asks a judge, of every stage and source of tasks. All have a check before the first
step, so that no run ends half-way for what was known; later ones are made while their stage goes on.

Everything follows from rows. The reward service makes the checks that the driver asks for, and notes what answers the
run's questions. Verification, section 7 (vi): stop where false accepts rise by more than 5 points.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hone import ids
from hone.algorithms.agreement import Agreement, pooled
from hone.graders.labelled_pairs import MASTER_KEY
from hone.resolution.judge_checks import Gated, gated
from hone.resolution.stages import stages
from hone.spec.run import JudgeCheckSpec
from hone.store.database import Database, Row, Transaction
from hone.store.leases import fenced
from services.learner.driver.lease import RunLease
from services.learner.driver.reporting import Event

DRIFTED = "judge.drifted"
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RunCheck:
    """A check of the run's judge."""

    number: int
    step: int
    state: str
    reason: str | None = None
    asked: Mapping[str, str] = field(default_factory=dict)  # what had answered the run, by judge
    judges: Mapping[str, str] = field(default_factory=dict)  # what answered the check
    pairs: int = 0
    judged: int = 0
    counts: Mapping[str, Agreement] = field(default_factory=dict)

    @property
    def whole(self) -> Agreement:
        """The counts of all kinds together."""
        return pooled(self.counts.values())


@dataclass(frozen=True)
class JudgeStanding:
    """Demands of the checks of a run's judge. At most one of the three is there."""

    stop: str | None = None  # why the run must not go on
    event: Event | None = None  # of that
    due: int | None = None  # number of the check that is to be asked for
    grader: str = ""  # hash of the grader that it measures
    waits: str = ""  # for what


class JudgeGate:
    """Reads and asks for the checks of a run's judge."""

    def __init__(self, database: Database, lease: RunLease, spec: JudgeCheckSpec, graders: Sequence[Gated]) -> None:
        self._database, self._lease, self._spec = database, lease, spec
        self._graders = {one.grader.hash: one for one in graders}
        self._ends = [stage.last for stage in stages(lease.spec)]

    @classmethod
    def of(cls, database: Database, lease: RunLease) -> "JudgeGate | None":
        """Return the gate of a run; None where it checks no judge."""
        spec = lease.spec.judge_check
        if spec is None or lease.preflight is not None or not (graders := gated(lease.spec)):
            return None
        return cls(database, lease, spec, graders)

    def standing(self, planned: int) -> JudgeStanding:
        """Return the demands of the checks; `planned` is the last planned step."""
        checks = defaultdict[str, list[RunCheck]](list)
        for row in self._database.all("grader_checks.of_run", run_id=self._lease.run_id):
            checks[row["grader_hash"]].append(_check(row))
        stage, answering = sum(planned >= last for last in self._ends[:-1]), self._answering()
        return together([replace(
            standing(self._spec, checks[name], answering, planned, current=stage in one.stages), grader=name)
            for name, one in self._graders.items() if max(one.stages) >= stage],
            1 + max((check.number for made in checks.values() for check in made), default=-1))

    def request(self, number: int, step: int, grader_hash: str) -> None:
        """Ask for a check of one of the graders, unless it was asked for. A reward service finds its row."""
        asked = self._graders[grader_hash]
        with fenced(self._database, self._lease) as transaction:
            transaction.run(
                "grader_checks.add_of_run", id=ids.new("check"), tenant_id=self._lease.tenant_id,
                run_id=self._lease.run_id, number=number, step=step, grader=asked.grader.json,
                grader_hash=grader_hash, label=asked.label, set_name=self._spec.set,
                asked=json.dumps(self._answering()))

    def disagreement(self, transaction: Transaction, group_ids: Sequence[int]) -> dict[str, float]:
        """Return how often verdicts on samples of these groups differ that judges gave twice, where there are some."""
        if not self._spec.again:
            return {}
        row = transaction.one("grades.disagreement", group_ids=list(group_ids))
        return {} if row is None or row["share"] is None else {"judge/disagreement": float(row["share"])}

    def _answering(self) -> dict[str, str]:
        rows = self._database.all("grader_checks.answering", run_id=self._lease.run_id)
        return {row["judge"]: row["pinned"] for row in rows}


def together(found: Sequence[JudgeStanding], number: int) -> JudgeStanding:
    """Return the demands of the standings of all graders: the end, a check, or patience. `number`: of a new check.
    """
    stop = next((one for one in found if one.stop is not None), None)
    due = next((replace(one, due=number) for one in found if one.due is not None), None)
    return stop or due or next((one for one in found if one.waits), JudgeStanding())


def standing(
    spec: JudgeCheckSpec, checks: Sequence[RunCheck], answering: Mapping[str, str], planned: int, current: bool = True,
) -> JudgeStanding:
    """Return the demands of the first and the newest check of a grader. `answering`: who answered it last, by judge.

    A grader whose stage is not `current` has its first check alone.
    """
    if not checks:
        return JudgeStanding(due=0)
    first, newest = checks[0], checks[-1]
    if newest.state == "failed":
        return JudgeStanding(stop=f"the check of its judge after step {newest.step} failed: {newest.reason}")
    if newest.state != "done":
        why = f": {newest.reason}" if newest.reason else ""
        return JudgeStanding(waits=f"the check of its judge after step {newest.step}, {newest.judged} of "
                             f"{newest.pairs} pairs{why}")
    if bad := _bad(spec, first, newest):
        return JudgeStanding(stop=bad, event=_event(bad, first, newest) if newest is not first else None)
    due = current and (newest.step < planned // spec.every * spec.every or _changed(newest, answering))
    return JudgeStanding(due=newest.number + 1 if due else None)


def _bad(spec: JudgeCheckSpec, first: RunCheck, newest: RunCheck) -> str | None:
    """Return why a judge may not train a run, with the numbers; None if it may."""
    then, now = first.whole, newest.whole
    keys = newest.counts.get(MASTER_KEY, Agreement()).false_accepts
    at = f"of {now.total} pairs of {spec.set} after step {newest.step}"
    if now.gap is None or now.false_accepts is None or now.false_refusals is None:
        return f"the judge gave no verdict on right or on wrong ones {at}: {now.invalid} have none"
    before = then.false_accepts or 0.0
    if newest is not first and now.false_accepts - before > spec.rise + _ROUNDING:
        return (f"the judge accepts {now.false_accepts:.4f} of the wrong ones {at}, and {before:.4f} at the first "
                f"check; expected a rise of at most {spec.rise:g} (judge_check.rise)")
    if now.gap < spec.least - _ROUNDING:
        return (f"the judge leaves 1 - fp - fn = {now.gap:.4f} {at}, with fp {now.false_accepts:.4f} and fn "
                f"{now.false_refusals:.4f}; expected at least {spec.least:g} (judge_check.least)")
    if keys is not None and keys > spec.most_key_accepts + _ROUNDING:
        return (f"the judge accepts {keys:.4f} of the master keys {at}; expected at most {spec.most_key_accepts:g} "
                "(judge_check.most_key_accepts)")
    return None


def _event(message: str, first: RunCheck, newest: RunCheck) -> Event:
    return Event(DRIFTED, message, {"first": first.whole.figures(), "now": newest.whole.figures()})


def _changed(newest: RunCheck, answering: Mapping[str, str]) -> bool:
    """Return whether something else answers the run than what the newest check measured, or was asked for because of.
    """
    return any(name in answering and answering[name] not in (pinned, newest.asked.get(name))
               for name, pinned in newest.judges.items() if pinned)


def _check(row: Row) -> RunCheck:
    return RunCheck(row["number"], row["step"], row["state"], row["reason"], row["asked"], row["judges"], row["pairs"],
                    row["judged"], {kind: Agreement(**one) for kind, one in row["counts"].items()})
