"""Effects of noise on a policy, made of the stored answers of one evaluation."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from statistics import fmean

from hone.algorithms.robustness import CLEAN, Trial, report
from hone.client.noise import NoiseReport, NoiseRow
from hone.environments.tools import tool_call
from hone.graders.deviation import DEVIATED, JUDGED
from hone.resolution import scores
from hone.spec.run import RunSpec
from hone.store.database import Row
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.records import Call, Step, Trajectory

MOST_SAMPLES = 20_000
"""Answers of an evaluation that are read."""
_NAMES = frozenset({"error", "redundancy", "misleading", "user_conflict"})
"""Types of noise that may name values which are nowhere else."""
_VALUE = re.compile(r"\b(?=\w*\d)[\w@.-]*\w\b")
"""A word with a digit: a number, a date, a code."""


def judged_groups(spec: RunSpec, found: Sequence[Row]) -> list[int]:
    """Return the groups among rows of `trajectories.of_noise` of whose samples a judge was asked about deviation."""
    judge = spec.eval and spec.eval.noise and spec.eval.noise.judge
    return sorted({row["group_id"] for row in found if judge and _noise(row) in JUDGED})


def make(
    objects: Objects, run_id: str, spec: RunSpec, found: Sequence[Row], components: Sequence[Row] = (),
) -> NoiseReport:
    """Return the report of an evaluation from rows of `trajectories.of_noise`, of which there may be one too many.

    `components` are rows of `grades.components` of its judged groups.
    """
    verdicts = {(row["group_id"], row["index"]): row["components"].get(DEVIATED) for row in components}
    rows, (_, success) = found[:MOST_SAMPLES], scores.bounds(spec)
    masked = Counter(_noise(row) for row in rows if row["score"] is None)
    trials = list[Trial]()
    for key, of_part in groupby(sorted((row for row in rows if row["score"] is not None), key=_place), _part):
        samples = parts.decode(objects.get(key))
        trials += [_trial(row, samples[row["row"]], verdicts.get((row["group_id"], row["index"]))) for row in of_part]
    made = [NoiseRow(**{**asdict(one), "pass_hat": list(one.pass_hat)}, masked=masked[one.noise])
            for one in report(trials, success)]
    return NoiseReport(run_id=run_id, step=rows[0]["step"] if rows else None, success=success, rows=made,
                       truncated=len(found) > MOST_SAMPLES)


def _noise(row: Row) -> str:
    return CLEAN if row["series"] == "sampled" else str(row["series"]).removeprefix("noise/")


def _part(row: Row) -> str:
    return str(row["part"])


def _place(row: Row) -> tuple[str, int]:
    return _part(row), row["row"]


def _trial(row: Row, sample: Trajectory, verdict: float | None) -> Trial:
    own = [call for call in sample.calls if call.role == "policy"]
    places, failed = {call.index for call in own}, sum("failed" in step.injection for step in sample.steps)
    logp = [one for call in own for one in call.logp_sample]
    return Trial(
        _noise(row), row["task_hash"], row["score"], row["completion_tokens"], len(own),
        tuple(_tool(step) for step in sample.steps if step.call in places),
        sum(bool(step.injection) for step in sample.steps) - failed, failed, -fmean(logp) if logp else None,
        _misled(sample, own), None if verdict is None else verdict > 0)


def _misled(sample: Trajectory, own: Sequence[Call]) -> bool:
    """Return whether the policy wrote a number, date or code behind noise that nothing but the noise had named."""
    noisy = [step for step in sample.steps if step.injection.get("type") in _NAMES and "failed" not in step.injection]
    if not noisy:
        return False
    truths = [step.injection.get("original") or "" for step in noisy]
    clean = [str(message["content"]) for step in sample.steps if not step.injection for message in step.said]
    known = _values(json.dumps([sample.task, sample.item]), *truths, *clean)
    return any((_values(str(step.injection["injected"])) - known) & _values(call.text)
               for step in noisy for call in own if call.index > step.call)


def _values(*texts: str) -> set[str]:
    return {value for text in texts for value in _VALUE.findall(text)}


def _tool(step: Step) -> str:
    """Return the tool that a step calls; of a command its first word."""
    call = tool_call(step.action)
    return (call.tool or "") if call else next(iter(step.action.split()), "")
