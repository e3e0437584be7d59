"""Memory of a policy about a changing user, and its failures, made of the stored samples of one evaluation."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from hone.algorithms.memory_diagnosis import Diagnosis, Figure, Lived, diagnosis
from hone.client.matrix import Estimate
from hone.client.memory import MemoryReport, MemoryRow, MemorySource
from hone.environments.changing_user import ChangingUserParams
from hone.harnesses.remembering import RememberingParams
from hone.remembering.scores import PeriodResult
from hone.resolution import sources
from hone.resolution.sources import Source
from hone.spec.run import RunSpec
from hone.store.database import Row
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory import parts

MOST_SAMPLES = 2_000
"""Samples of an evaluation that are read."""
_ENVIRONMENT, _HARNESS = "changing_user", "remembering"

Items = dict[tuple[int, int], dict[str, Any]]
"""The item of each stored sample by group id and index."""


def asked(spec: RunSpec) -> list[Source]:
    """Return the sources of a run's evaluation that ask what is remembered."""
    return [one for one in sources.held_out(spec) if one.spec.task.environment == _ENVIRONMENT]


def make(objects: Objects, run_id: str, spec: RunSpec, series: str, found: Sequence[Row]) -> MemoryReport:
    """Return the report of an evaluation from rows of `trajectories.of_memory`, of which there may be one too many.

    Samples whose objects were deleted are left out.
    """
    rows = found[:MOST_SAMPLES]
    scored = [row for row in rows if row["score"] is not None]
    items = _items(objects, sorted({row["part"] for row in scored}))
    kept = [row for row in scored if _key(row) in items]
    made = [_source(one, [row for row in rows if row["source"] == one.name], items) for one in asked(spec)]
    return MemoryReport(
        run_id=run_id, step=rows[0]["step"] if rows else None, series=series, sources=made if rows else [],
        truncated=len(found) > MOST_SAMPLES or len(kept) < len(scored))


def _items(objects: Objects, keys: Sequence[str]) -> Items:
    found: Items = {}
    for key in keys:
        try:
            found |= parts.items(objects.get(key))
        except ObjectMissing:
            continue
    return found


def _key(row: Row) -> tuple[int, int]:
    return row["group_id"], row["index"]


def _source(source: Source, rows: Sequence[Row], items: Items) -> MemorySource:
    drawn = ChangingUserParams.model_validate(source.spec.task.params).life.periods
    own = [(row["task_hash"], items[_key(row)]) for row in rows if row["score"] is not None and _key(row) in items]
    lasts = [item.get("last_period", drawn) for _, item in own]  # of a written life, the row's
    samples = [Lived(task_hash, tuple(_results(item))) for task_hash, item in own]
    last = max(lasts, default=drawn)
    periods = [_row(samples, source.spec.seed, period) for period in range(last + 1)]
    return MemorySource(
        source=source.name, memory=_memory(source.spec),
        recorded=any(item.get("off_policy", False) for _, item in own),
        masked=sum(row["score"] is None for row in rows),
        cut=sum(len(one.results) <= end for one, end in zip(samples, lasts, strict=True)),
        whole=_row(samples, source.spec.seed), periods=[one for one in periods if one is not None])


def _memory(spec: RunSpec) -> str:
    if spec.harness is None or spec.harness.name != _HARNESS:
        return ""
    return RememberingParams.model_validate(spec.harness.params).memory


def _results(item: dict[str, Any]) -> Iterator[PeriodResult]:
    for one in item["periods"]:
        yield PeriodResult(one["period"], tuple(one["right"]), tuple(one["random"]), tuple(one["upper"]), one["known"],
                           tuple(one["causes"]), one["json_errors"])


def _row(samples: Sequence[Lived], seed: int, period: int | None = None) -> MemoryRow | None:
    found = diagnosis(samples, seed, period)
    return None if found is None else _shown(found, period)


def _shown(found: Diagnosis, period: int | None) -> MemoryRow:
    counts = {name: getattr(found, name) for name in (
        "lives", "samples", "questions", "random", "upper", "left_out", "json_errors")}
    shares = {name: _estimate(one) for name, one in found.shares.items()}
    return MemoryRow(period=period, failures={**found.failures}, memory_score=_estimate(found.memory_score),
                     **counts, **shares)


def _estimate(found: Figure) -> Estimate:
    return Estimate(**asdict(found), real=found.low is not None and found.high is not None and not
                    found.low <= 0 <= found.high)
