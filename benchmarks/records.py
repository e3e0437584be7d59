"""What one training leaves behind for comparison, the same on both sides, and the summary of it."""

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks import figures
from benchmarks.workloads import Workload


@dataclass
class Record:
    """One training, step by step; every list has one entry a step, seconds are wall unless said otherwise."""

    trainer: str
    layout: str
    seed: int
    setup_s: float = 0.0
    step_s: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    mean_tokens: list[float] = field(default_factory=list)
    max_tokens: list[float] = field(default_factory=list)
    idle_groups: list[float] = field(default_factory=list)  # groups whose rewards do not vary
    phases: dict[str, list[float]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return asdict(self)


def summary(record: Record, workload: Workload) -> dict[str, Any]:
    """Return medians after warm-up, time to the workload's target, both ends of the curve, and lengths met."""
    fields = {
        "trainer": record.trainer, "layout": record.layout,
        "step_s": figures.settled_median(record.step_s, workload.warm_up),
        "phases": {name: figures.settled_median(values, workload.warm_up) for name, values in record.phases.items()},
        "reward_first": _mean(record.rewards[:workload.window]),
        "reward_last": _mean(record.rewards[-workload.window:]),
        "mean_tokens": _mean(record.mean_tokens), "max_tokens": max(record.max_tokens),
        "idle_groups": _mean(record.idle_groups),
    }
    if workload.target is None:
        return fields
    return {**fields, "target": workload.target,
            "steps_to_target": figures.steps_to_target(record.rewards, workload.target, workload.window),
            "seconds_to_target": figures.seconds_to_target(
                record.step_s, record.rewards, workload.target, workload.window)}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
