"""Held-out evaluation of a committed version: its groups are requested like others, and recorded once all are graded.
"""

from collections import defaultdict
from typing import Any

from hone.store.database import Database, Row, Transaction
from hone.store.leases import fenced
from services.learner.driver import sample_warnings
from services.learner.driver.groups import expire, next_request, record_expiry, request_groups
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Task
from services.learner.driver.reporting import Event, record_end, record_event, record_metrics, record_once


def request_evaluation(
    database: Database, lease: RunLease, step: int, version_id: str, tasks: list[Task], traceparent: str | None = None
) -> None:
    """Request one answer to each held-out task in each series from the version after `step`."""
    with fenced(database, lease) as transaction:
        first = next_request(transaction, lease, "eval")
        for place, (series, sampling) in enumerate(eval_series(lease).items()):
            request_groups(transaction, lease, "eval", first + place * len(tasks), step, version_id, tasks,
                           [1] * len(tasks), sampling, series, traceparent)


def eval_series(lease: RunLease) -> dict[str, dict[str, Any]]:
    """Return the sampling parameters of each evaluation series: greedy, and sampled at temperature 1."""
    own = lease.spec.sampling
    base = {"max_tokens": own.max_tokens, "top_p": 1.0, "top_k": 0, "stop": own.stop, "include_stop": own.include_stop}
    return {"greedy": {**base, "temperature": 0.0}, "sampled": {**base, "temperature": 1.0}}


def record_evaluation(database: Database, lease: RunLease, step: int) -> None:
    """Record the accuracy of each series and end its groups.

    Groups that are not ready are dropped. Their samples count as masked, and an event names what they waited for.
    """
    with fenced(database, lease) as transaction:
        gone = expire(transaction, lease, "eval", oldest=0)
        if gone:
            record_expiry(transaction, lease, gone, step, f"held-out answers after step {step}: ")
        samples = transaction.all("groups.ready_samples", run_id=lease.run_id, purpose="eval",
                                  kind="generate", step=step)
        _warn(transaction, lease, samples, step)
        metrics = accuracies(samples, len(gone))
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


def accuracies(samples: list[Row], dropped: int = 0) -> dict[str, float]:
    """Return the mean score of each series as `eval/<series>`, and the count of samples without score, `dropped` too.
    """
    scores: dict[str, list[float]] = defaultdict(list)
    for row in samples:
        if row["score"] is not None:
            scores[row["series"]].append(row["score"])
    means = {f"eval/{series}": sum(values) / len(values) for series, values in sorted(scores.items())}
    return {**means, "eval/masked": float(dropped + sum(row["score"] is None for row in samples))}


def _sentence(step: int, metrics: dict[str, float]) -> str:
    means = ", ".join(f"{name.removeprefix('eval/')} {value:.3f}" for name, value in metrics.items()
                      if name != "eval/masked")
    return f"held-out accuracy after step {step}: {means or 'unknown, no answer has a score'}"
