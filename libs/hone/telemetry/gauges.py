"""Prometheus metrics that are read from the rows. Each is a column of a statement in store/queries/gauges.sql."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from hone.telemetry.metrics import Asked


@dataclass(frozen=True)
class Family:
    """A metric: its statement, the column with its value, and the columns with its labels."""

    name: str
    text: str
    statement: str
    column: str
    labels: tuple[str, ...] = ()
    counts: bool = False  # it counts since its row was made


_RUN, _ENGINE = ("run",), ("engine",)

FAMILIES = (
    Family("hone_runs", "Runs by state.", "runs", "runs", ("state",)),
    Family("hone_run_step", "Last committed step of an open run.", "open_runs", "step", _RUN),
    Family("hone_run_steps", "Steps of an open run's spec.", "open_runs", "steps", _RUN),
    Family("hone_run_quiet_seconds", "Seconds since a running run committed a step, started or was resumed.",
           "open_runs", "quiet_s", _RUN),
    Family("hone_run_step_seconds", "Seconds between an open run's last two commits, pauses not counted.",
           "open_runs", "step_s", _RUN),
    Family("hone_run_unheld_seconds", "Seconds for which no driver has held an open run.",
           "open_runs", "unheld_s", _RUN),
    Family("hone_run_max_staleness", "Largest staleness that an open run's spec allows, in versions.",
           "open_runs", "max_staleness", _RUN),
    Family("hone_run_staleness", "Mean staleness of the groups of an open run's last step.",
           "open_runs", "staleness", _RUN),
    Family("hone_run_gap_nats", "Trainer-sampler gap of an open run's last step.", "open_runs", "gap", _RUN),
    Family("hone_run_probe_gap_nats", "Trainer-sampler gap on the probe, of the engine with the largest gap.",
           "open_runs", "probe_gap", _RUN),
    Family("hone_run_gap_alarm_nats", "Gap above which an open run's spec asks for an alarm.",
           "open_runs", "gap_alarm", _RUN),
    Family("hone_run_low_prediction_steps", "Steps in a row whose predictions of success did not order outcomes.",
           "open_runs", "low_predictions", _RUN),
    Family("hone_run_masked_ratio", "Share of masked samples in an open run's last step.", "open_runs", "masked", _RUN),
    Family("hone_run_trainer_idle_seconds", "Seconds that a run's trainer waited for its last step, without pauses.",
           "open_runs", "idle_s", _RUN),
    Family("hone_groups", "Open groups.", "groups", "groups", ("purpose", "state")),
    Family("hone_groups_oldest_seconds", "Age of the oldest open group.", "groups", "oldest_s", ("purpose", "state")),
    Family("hone_operations_queued", "Operations that wait for a trainer or are being executed.",
           "operations", "operations"),
    Family("hone_operations_oldest_seconds", "Age of the oldest of these operations.", "operations", "oldest_s"),
    Family("hone_deletions_waiting", "Deletions whose rows are not all removed yet.", "deletions", "deletions"),
    Family("hone_deletions_oldest_seconds", "Age of the oldest of these deletions.", "deletions", "oldest_s"),
    Family("hone_engine_heartbeat_age_seconds", "Seconds since an engine last reported.", "engines", "age_s", _ENGINE),
    Family("hone_engine_refused_versions", "Versions that an engine refuses to serve.", "engines", "refused", _ENGINE),
    Family("hone_engine_tokens", "Tokens that an engine generated for a model.",
           "engine_models", "generated_tokens", ("engine", "model"), counts=True),
    Family("hone_engine_samples", "Samples that an engine generated for a model.",
           "engine_models", "generated_samples", ("engine", "model"), counts=True),
    Family("hone_engine_computed_seconds", "Seconds that an engine computed for a model.",
           "engine_models", "computed_s", ("engine", "model"), counts=True),
    Family("hone_worker_heartbeat_age_seconds", "Seconds since a worker (trainer, rollout, sinks) last reported.",
           "workers", "age_s", ("kind", "worker")),
)
STATEMENTS = tuple(dict.fromkeys(f"gauges.{family.statement}" for family in FAMILIES))


def families(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Metric]:
    """Yield every family, with a sample for each row of its statement that has a value."""
    for family in FAMILIES:
        kind = CounterMetricFamily if family.counts else GaugeMetricFamily
        metric = kind(family.name, family.text, labels=family.labels)
        for row in found[f"gauges.{family.statement}"]:
            if row[family.column] is not None:
                metric.add_metric([str(row[label]) for label in family.labels], float(row[family.column]))
        yield metric


def text(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return every family in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(Asked(lambda: families(found)))
    return generate_latest(registry).decode()
