"""The plan of a training step: the driver writes it before training, the trainer reads it, replays read it again."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class GroupPlan(BaseModel):
    """One group of the step. Lists run over its trajectories in index order."""

    model_config = ConfigDict(frozen=True)

    group_id: int
    request_no: int
    task_hash: str
    source: str = ""  # name of its task's source in a mixture
    parts: list[str] = []  # object keys of the parts that hold its trajectories; other parts may hold stale copies
    grade_ids: list[int | None]
    rewards: list[float | None]  # after S3; null masks the sample
    components: list[dict[str, float]] = []  # parts of each raw reward by name, if the estimator reads them
    baseline: float | None = None  # running mean of the task's earlier outcomes, if the estimator reads it
    predicted: float | None = None  # predicted chance of success, made before sampling, if the estimator reads it


class Collected(BaseModel):
    """Items of one version of a collection, from which a step is made."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    items: list[tuple[int, int]]  # (the version that added the item, its index there)


class StepPlan(BaseModel):
    """Step `n` of a run: exact data, slots and learning rate. Everything that influences the gradient is named here."""

    model_config = ConfigDict(frozen=True)

    n: int
    first: int = 1  # step of the run at which its stage begins
    steps: int = 1  # number of steps of its stage
    kind: Literal["generate", "verify"] = "generate"  # the task of the run that its groups are for
    collected: Collected | None = None  # the items from which its tasks were made; None: the run's own tasks
    builder: str  # rollouts: rows are the groups' trajectories; all others: every row of the parts, in order
    parts: list[str]  # object keys of Parquet parts that hold the rows
    groups: list[GroupPlan]
    slots: dict[str, Any]  # {advantage: {name, params}, …, regularizers: [..]} as hone.algorithms.presets resolves them
    lr: float
    clip_norm: float
    temperature: float
    max_tokens: int
    minibatches: int = 1  # number of parts of consecutive groups, each with its own update
    epochs: int = 1  # number of times that each minibatch is used
    teacher: Literal["", "model", "context"] = ""  # a model, or the policy in another context
    top_k: int = 0  # number of likeliest ids to compute in the policy's other context
    bounds: tuple[float, float] = (0.0, 1.0)  # smallest and largest score of the grader
    gap_alarm_nats: float = 0.01  # mean trainer-sampler gap a token above which an alarm is raised
    state: dict[str, Any] = {}  # outputs and state of S0-S3 and S10

    @property
    def sampled(self) -> bool:
        """Whether the rows are the trajectories of groups; otherwise they are all rows of the parts."""
        return self.builder == "rollouts"

    @property
    def nth(self) -> int:
        """Number of the step within its stage, from 1."""
        return self.n - self.first + 1

    @property
    def updates(self) -> int:
        """Number of updates in the step."""
        return self.minibatches * self.epochs


def of_source(source: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Return metrics by the names that they have for one source of a mixture or an evaluation."""
    return {f"source/{source}/{name}": value for name, value in metrics.items()}


_OF_THE_RUN = ("lr", "trainer/", "storage/", "engine/", "groups/")
"""Beginnings of the names of metrics that have one curve for steps of all kinds."""


def by_kind(kind: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Return a step's metrics by their recorded names. Each kind of step has its own curves."""
    prefix = "" if kind == "generate" else f"{kind}/"
    return {name if name.startswith(_OF_THE_RUN) else prefix + name: value for name, value in metrics.items()}
