"""What a training step is made of: written by the driver before training, read by the trainer, kept for replay."""

from typing import Any

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


class StepPlan(BaseModel):
    """Step `n` of a run: exact data, slots and learning rate. Everything that influences the gradient is named here."""

    model_config = ConfigDict(frozen=True)

    n: int
    steps: int = 1  # of the run
    builder: str  # rollouts: rows are the groups' trajectories; dataset: every row of the parts, in order
    parts: list[str]  # object keys of Parquet parts that hold the rows
    groups: list[GroupPlan]
    slots: dict[str, Any]  # {advantage: {name, params}, …, regularizers: [..]} as hone.algorithms.presets resolves them
    lr: float
    clip_norm: float
    temperature: float
    max_tokens: int
    loss_mask_truncated: str = "keep"  # keep | drop
    gap_alarm_nats: float = 0.01  # mean trainer-sampler gap a token above which an alarm is raised
    state: dict[str, Any] = {}  # outputs and state of S0-S3 and S10
