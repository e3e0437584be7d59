"""Prometheus metrics that a process counts itself. Metrics that are read from rows are in hone.telemetry.gauges."""

from collections.abc import Callable, Iterable

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from hone import addresses

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)

RPC_SECONDS = Histogram(
    "hone_rpc_duration_seconds", "gRPC calls that this process answered.", ("service", "method", "code"),
    buckets=_SECONDS)
HTTP_SECONDS = Histogram(
    "hone_http_duration_seconds", "REST requests that this gateway answered.", ("method", "route", "status"),
    buckets=_SECONDS)
HINTS_SENT = Counter("hone_hints_sent", "Hints that the broker took.")
HINTS_LOST = Counter("hone_hints_lost", "Hints that the broker did not take. A lost hint only costs time.")
HINTS_RECEIVED = Counter("hone_hints_received", "Hints that woke this rollout worker.")
GROUPS_CLAIMED = Counter("hone_groups_claimed", "Groups that this rollout worker claimed.")
GROUPS_READY = Counter("hone_groups_ready", "Groups that this rollout worker made ready.")
GROUPS_FAILED = Counter("hone_groups_failed", "Attempts at a group that failed in this rollout worker.")
CLAIMS_LOST = Counter("hone_claims_lost", "Claims of this rollout worker that expired.")
GRADING_SECONDS = Counter("hone_grading_seconds", "Seconds of the processes of this reward service's symbolic graders.")
GRADES_WAITING = Gauge("hone_grades_waiting", "Samples that wait for a process of this reward service.")
JUDGE_QUESTIONS = Counter("hone_judge_questions", "Questions of this reward service's graders to judges, by outcome: "
                          "answered, known (answered before) or failed.", ("outcome",))
JUDGE_SECONDS = Histogram("hone_judge_seconds", "Seconds of a question to a judge, with repeated attempts.",
                          buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300))
GRADER_CHECKS = Counter("hone_grader_checks", "Checks of graders against labelled sets, by outcome: done, copied (of "
                        "an equal one), failed, or repeated because no verdict came.", ("outcome",))
JUDGES_DRIFTED = Counter("hone_judges_drifted", "Runs that this driver stopped because their judge went bad.")
PROGRAMS = Counter("hone_sandbox_programs", "Programs that this sandbox ran, by the way they ended.", ("status",))
PROGRAM_SECONDS = Counter("hone_sandbox_seconds", "Seconds that programs took in this sandbox.")
PROGRAMS_WAITING = Gauge("hone_sandbox_waiting", "Programs that wait for a place in this sandbox.")
UNITS_COMMITTED = Counter("hone_units_committed", "Units of operations that this trainer committed.")
ORPHANS_COLLECTED = Counter("hone_orphans_collected", "Objects without a row that this driver removed.")
DISK_FREE = Gauge("hone_disk_free_bytes", "Bytes left on a disk that this process writes to.", ("directory",))
DELETIONS_FINISHED = Counter("hone_deletions_finished", "Deletions that this driver finished, by kind.", ("kind",))
ROWS_DELETED = Counter("hone_rows_deleted", "Rows of deleted runs, models and others that this driver removed.")
VERSIONS_TAKEN_OVER = Counter(
    "hone_versions_taken_over", "Versions that this engine was offered, by the action after which the probe agreed.",
    ("model", "action"))
PROBE_GAP = Gauge(
    "hone_probe_gap_nats", "Difference between this engine's and the trainer's log-probs of the probe, for the "
    "version that was offered last.", ("model", "statistic"))
PROCESS_METRICS = (RPC_SECONDS, HTTP_SECONDS, HINTS_SENT, HINTS_LOST, HINTS_RECEIVED, GROUPS_CLAIMED, GROUPS_READY,
                   GROUPS_FAILED, CLAIMS_LOST, GRADING_SECONDS, GRADES_WAITING, JUDGE_QUESTIONS, JUDGE_SECONDS,
                   GRADER_CHECKS, JUDGES_DRIFTED, PROGRAMS, PROGRAM_SECONDS, PROGRAMS_WAITING, UNITS_COMMITTED,
                   ORPHANS_COLLECTED, DISK_FREE, DELETIONS_FINISHED, ROWS_DELETED, VERSIONS_TAKEN_OVER, PROBE_GAP)

_serving = False


def serve(address: str) -> None:
    """Answer Prometheus at host:port from a thread. Raises OSError if the address is taken."""
    global _serving  # noqa: PLW0603 — one process, one port
    host, port = addresses.parts(address)
    start_http_server(port, host)
    _serving = True


def served() -> bool:
    """Return whether this process serves its metrics."""
    return _serving


class Asked(Collector):
    """Calls a function for metric families at each scrape."""

    def __init__(self, ask: Callable[[], Iterable[Metric]]) -> None:
        self._ask = ask

    def collect(self) -> Iterable[Metric]:
        """Return the families."""
        return self._ask()

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that the function is not called when this is registered."""
        return ()


def add(ask: Callable[[], Iterable[Metric]]) -> None:
    """Add the families that `ask` returns to each scrape."""
    REGISTRY.register(Asked(ask))
