"""Held-out evaluation of a committed version: its groups are requested like others, and recorded once all are graded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hone.resolution import sources
from hone.spec.noise import NoiseSpec
from hone.spec.run import RunSpec
from hone.store.database import Database, Row, Transaction
from hone.store.leases import fenced
from hone.trajectory.plan import of_source
from services.learner.driver import reasoner_watch, sample_warnings
from services.learner.driver.budgets import Granted
from services.learner.driver.groups import expire, next_request, record_expiry, request_groups
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Task
from services.learner.driver.reporting import Event, record_end, record_event, record_metrics, record_once

SERIES = {"greedy": 0.0, "sampled": 1.0}
"""The temperature of each series of clean answers."""
_DIGITS = 16
"""Digits of a task's content hash that its score is stored with."""

TaskScores = Mapping[tuple[str, str], Mapping[str, float | None]]
"""(source, series) -> content hash of a task -> mean score of its samples; None: no sample has a score."""


def request_evaluation(
    database: Database, lease: RunLease, step: int, version_id: str, tasks: list[Task], traceparent: str | None = None
) -> None:
    """Request answers to each held-out task in each series from the version after `step`: one greedy answer, and as
    many sampled ones as the spec says.
    """
    samples = lease.spec.eval.samples if lease.spec.eval else 1
    with fenced(database, lease) as transaction:
        first = next_request(transaction, lease, "eval")
        for place, (series, noise) in enumerate(series_of(lease.spec).items()):
            count = 1 if series == "greedy" else samples
            request_groups(transaction, lease, "eval", first + place * len(tasks), step, version_id, tasks,
                           [Granted(count)] * len(tasks), partial(eval_sampling, series), series, traceparent,
                           noise=noise)


def series_of(spec: RunSpec) -> dict[str, NoiseSpec | None]:
    """Return the series of a run's evaluations: clean ones, and one for each type of noise that the spec asks for."""
    noise = spec.eval.noise if spec.eval else None
    twins = {f"noise/{kind}": noise.model_copy(update={"types": [kind], "share": 1.0})
             for kind in dict.fromkeys(noise.types)} if noise else {}
    return {**dict.fromkeys(SERIES), **twins}


def eval_sampling(series: str, spec: RunSpec) -> dict[str, Any]:
    """Return the sampling parameters of a series: greedy, or else sampled at temperature 1."""
    own = spec.sampling
    return {"max_tokens": own.max_tokens, "top_p": 1.0, "top_k": 0, "stop": own.stop, "include_stop": own.include_stop,
            "temperature": SERIES.get(series, 1.0)}


def record_evaluation(database: Database, lease: RunLease, step: int) -> None:
    """Record the accuracy of each series, and the score of each task, and end its groups.

    Groups that are not ready are dropped. Their samples count as masked, and an event names what they waited for.
    """
    with fenced(database, lease) as transaction:
        gone = expire(transaction, lease, "eval", oldest=0)
        if gone:
            record_expiry(transaction, lease, gone, step, f"held-out answers after step {step}: ")
        samples = transaction.all("groups.ready_samples", run_id=lease.run_id, purpose="eval",
                                  kind="generate", step=step)
        _warn(transaction, lease, samples, step)
        scores = task_scores(samples)
        for (source, series), by_task in scores.items():
            transaction.run("evaluations.add", run_id=lease.run_id, tenant_id=lease.tenant_id, step=step, source=source,
                            series=series, tasks=[task[:_DIGITS] for task in by_task], scores=list(by_task.values()))
        named = [one.name for one in sources.held_out(lease.spec)]
        parts = transaction.all("grades.components", group_ids=sorted({row["group_id"] for row in samples}))
        metrics = accuracies(samples, [row["source"] for row in gone], named) | components(samples, parts)
        if (warning := reasoner_watch.of_gaps(parts, "evaluation", "held-out proposals")) is not None:
            record_once(transaction, lease, warning, step)
        record_metrics(transaction, lease, step, metrics)
        transaction.run("groups.use", group_ids=sorted({row["group_id"] for row in samples}))
        record_event(transaction, lease, Event("evaluated", _sentence(step, metrics)), step)


def _warn(transaction: Transaction, lease: RunLease, samples: list[Row], step: int) -> None:
    """Record that most answers were cut off, or that this has ended."""
    warnings = sample_warnings.of_evaluation(lease.spec, samples)
    for warning in warnings:
        record_once(transaction, lease, warning, step)
    if samples and not warnings:
        record_end(transaction, lease, "truncated_samples", sample_warnings.of_whole_answers(samples), step)


def task_scores(samples: Sequence[Row]) -> TaskScores:
    """Return the mean score of each task's samples, by source and series."""
    scores: dict[tuple[str, str], dict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(samples, key=lambda row: (row["source"], row["series"])):
        scores[row["source"], row["series"]][row["task_hash"]].append(row["score"])
    return {key: {task: _mean(found) for task, found in by_task.items()} for key, by_task in scores.items()}


def accuracies(samples: Sequence[Row], dropped: Sequence[str] = (), named: Sequence[str] = ("",)) -> dict[str, float]:
    """Return the mean score of each series as `eval/<series>`, and the count of samples without score, `dropped` too.

    A task's score is the mean over its samples, a source's is the mean over its tasks, and that of several sources is
    the mean over sources; each has its own under the name of `hone.trajectory.plan.of_source`. `dropped` has the source
    of each group that was dropped, `named` the names of all sources.
    """
    means = {key: _mean(list(by_task.values())) for key, by_task in task_scores(samples).items()}
    metrics = dict[str, float]()
    for series in sorted({series for _, series in means}):
        if (mean := _mean([value for (_, of), value in means.items() if of == series])) is not None:
            metrics[f"eval/{series}"] = mean
    metrics["eval/masked"] = float(len(dropped) + sum(row["score"] is None for row in samples))
    for source in filter(None, named):
        own = {f"eval/{series}": mean for (of, series), mean in means.items() if of == source and mean is not None}
        masked = dropped.count(source) + sum(row["source"] == source and row["score"] is None for row in samples)
        metrics |= of_source(source, {**own, "eval/masked": float(masked)})
    return metrics


def components(samples: Sequence[Row], parts: Sequence[Row]) -> dict[str, float]:
    """Return the mean of each component of the grades, `eval/<series>/<component>`, also by source."""
    known = {(row["group_id"], row["index"]): row["components"] for row in parts}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in samples:
        for name, value in known.get((row["group_id"], row["index"]), {}).items():
            for source in {"", row["source"]}:
                found[source, f"eval/{row['series']}/{name}"].append(value)
    metrics = dict[str, float]()
    for (source, name), values in sorted(found.items()):
        mean = {name: sum(values) / len(values)}
        metrics |= of_source(source, mean) if source else mean
    return metrics


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _sentence(step: int, metrics: dict[str, float]) -> str:
    means = ", ".join(f"{name.removeprefix('eval/')} {value:.3f}" for name, value in metrics.items()
                      if name.removeprefix("eval/") in SERIES)
    return f"held-out accuracy after step {step}: {means or 'unknown, no answer has a score'}"
