"""What noise does to a policy, made of the stored answers of one evaluation."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from hone.algorithms.robustness import CLEAN, Trial, report
from hone.client.noise import NoiseReport, NoiseRow
from hone.environments.tools import tool_call
from hone.resolution import scores
from hone.spec.run import RunSpec
from hone.store.database import Row
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.records import Step, Trajectory

MOST_SAMPLES = 20_000
"""Answers of an evaluation that are read."""


def make(objects: Objects, run_id: str, spec: RunSpec, found: Sequence[Row]) -> NoiseReport:
    """Return the report of an evaluation from rows of `trajectories.of_noise`, of which there may be one too many."""
    rows, (_, success) = found[:MOST_SAMPLES], scores.bounds(spec)
    masked = Counter(_noise(row) for row in rows if row["score"] is None)
    trials = list[Trial]()
    for key, of_part in groupby(sorted((row for row in rows if row["score"] is not None), key=_place), _part):
        samples = parts.decode(objects.get(key))
        trials += [_trial(row, samples[row["row"]]) for row in of_part]
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


def _trial(row: Row, sample: Trajectory) -> Trial:
    own = {call.index for call in sample.calls if call.role == "policy"}
    failed = sum("failed" in step.injection for step in sample.steps)
    return Trial(_noise(row), row["task_hash"], row["score"], row["completion_tokens"], len(own),
                 tuple(_tool(step) for step in sample.steps if step.call in own),
                 sum(bool(step.injection) for step in sample.steps) - failed, failed)


def _tool(step: Step) -> str:
    """Return the tool that a step calls; of a command its first word."""
    call = tool_call(step.action)
    return (call.tool or "") if call else next(iter(step.action.split()), "")
