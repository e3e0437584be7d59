"""What a training step is made of: written by the driver before training, read by the trainer, kept for replay."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class GroupPlan(BaseModel):
    """One group as the step uses it; lists run over the trajectories in index order."""

    model_config = ConfigDict(frozen=True)

    group_id: int
    request_no: int
    task_hash: str
    parts: list[str] = []  # object keys of the parts that hold its trajectories; other parts may hold stale copies
    grade_ids: list[int | None]
    rewards: list[float | None]  # after S3; null masks the sample
    components: list[dict[str, float]] = []  # parts of each raw reward by name, where the estimator wants them
    baseline: float | None = None  # running mean of the task's earlier outcomes, where the estimator wants one


class Collected(BaseModel):
    """Items of a collection that a step is made of, as its version has them."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    items: list[tuple[int, int]]  # (the version that added it, its place there)


class StepPlan(BaseModel):
    """Step `n` of a run: exact data, slots and learning rate. Everything that influences the gradient is named here."""

    model_config = ConfigDict(frozen=True)

    n: int
    first: int = 1  # step of the run at which its stage begins
    steps: int = 1  # of its stage, the run's where it has one
    kind: Literal["generate", "verify"] = "generate"  # which of the run's tasks its groups are for
    collected: Collected | None = None  # what its tasks were made of, where they are not the run's own
    builder: str  # rollouts: rows are the groups' trajectories; dataset: every row of the parts, in order
    parts: list[str]  # object keys of Parquet parts that hold the rows
    groups: list[GroupPlan]
    slots: dict[str, Any]  # {advantage: {name, params}, …, regularizers: [..]} as hone.algorithms.presets resolves them
    lr: float
    clip_norm: float
    temperature: float
    max_tokens: int
    minibatches: int = 1  # parts of consecutive groups, each with an update of its own
    epochs: int = 1  # times that each part is used
    teacher: Literal["", "model", "context"] = ""  # whose word is read: a model's, or the policy's in another context
    top_k: int = 0  # likeliest ids that the policy tells in its other context
    gap_alarm_nats: float = 0.01  # mean trainer-sampler gap a token above which an alarm is raised
    state: dict[str, Any] = {}  # outputs and state of S0-S3 and S10

    @property
    def sampled(self) -> bool:
        """Whether the rows are the trajectories of groups; otherwise they are all rows of the parts."""
        return self.builder == "rollouts"

    @property
    def nth(self) -> int:
        """Which step of its stage it is, from 1."""
        return self.n - self.first + 1

    @property
    def updates(self) -> int:
        """Updates that the step makes."""
        return self.minibatches * self.epochs


_OF_THE_RUN = ("lr", "trainer/", "storage/", "engine/", "groups/")
"""Metrics, or beginnings of their names, that are told of every step alike."""


def by_kind(kind: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Return a step's metrics by the names under which they are recorded: each kind of task has curves of its own."""
    prefix = "" if kind == "generate" else f"{kind}/"
    return {name if name.startswith(_OF_THE_RUN) else prefix + name: value for name, value in metrics.items()}
