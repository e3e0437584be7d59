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
    Family("hone_run_steps", "Steps that an open run is to make.", "open_runs", "steps", _RUN),
    Family("hone_run_quiet_seconds", "How long a running run has committed no step since it last went on.",
           "open_runs", "quiet_s", _RUN),
    Family("hone_run_step_seconds", "Time between its last two commits, without a pause.", "open_runs", "step_s",
           _RUN),
    Family("hone_run_unheld_seconds", "How long no driver has held an open run.", "open_runs", "unheld_s", _RUN),
    Family("hone_run_max_staleness", "Versions that its samples may be old.", "open_runs", "max_staleness", _RUN),
    Family("hone_run_staleness", "Mean staleness of its last step's groups.", "open_runs", "staleness", _RUN),
    Family("hone_run_gap_nats", "Trainer-sampler gap of its last step.", "open_runs", "gap", _RUN),
    Family("hone_run_probe_gap_nats", "The same on the probe, of the engine that is furthest off.", "open_runs",
           "probe_gap", _RUN),
    Family("hone_run_gap_alarm_nats", "Gap above which its spec wants an alarm.", "open_runs", "gap_alarm", _RUN),
    Family("hone_run_masked_ratio", "Share of masked samples in its last step.", "open_runs", "masked", _RUN),
    Family("hone_run_trainer_idle_seconds", "How long its trainer waited for the last step, without a pause.",
           "open_runs", "idle_s", _RUN),
    Family("hone_groups", "Open groups.", "groups", "groups", ("purpose", "state")),
    Family("hone_groups_oldest_seconds", "Age of the oldest open group.", "groups", "oldest_s", ("purpose", "state")),
    Family("hone_operations_queued", "Operations that wait for a trainer or are in its hands.", "operations",
           "operations"),
    Family("hone_operations_oldest_seconds", "Age of the oldest of them.", "operations", "oldest_s"),
    Family("hone_engine_heartbeat_age_seconds", "Since an engine last reported.", "engines", "age_s", _ENGINE),
    Family("hone_engine_refused_versions", "Versions that an engine refuses to serve.", "engines", "refused", _ENGINE),
    Family("hone_engine_tokens", "Tokens that an engine generated for a model.", "engine_models", "generated_tokens",
           ("engine", "model"), counts=True),
    Family("hone_engine_samples", "Samples that an engine generated for a model.", "engine_models",
           "generated_samples", ("engine", "model"), counts=True),
    Family("hone_engine_computed_seconds", "How long an engine computed for a model.", "engine_models", "computed_s",
           ("engine", "model"), counts=True),
    Family("hone_worker_heartbeat_age_seconds", "Since a trainer, rollout worker or sinks process last reported.",
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
