"""Benchmarks and their leaderboards: what checkpoints scored on equal tasks, what that cost, and how they failed."""

from datetime import datetime
from typing import Any

from hone.client.matrix import Estimate
from hone.client.resources import Resource


class Benchmark(Resource):
    """Frozen tasks of an environment. `version` is a hash: scores under another one are of another benchmark.

    `families` and `difficulties` count tasks; a task may be hard in several ways. `dataset` is the name under which an
    examination keeps the rows in your tenant.
    """

    name: str
    environment: str
    summary: str
    version: str
    tasks: int
    families: dict[str, int]
    difficulties: dict[str, int]
    dataset: str


class TaskGroup(Resource):
    """The tasks of a family or of a difficulty. `score` is from 0 to 100, `passed` the share with a full score."""

    name: str
    tasks: int
    score: Estimate
    passed: Estimate


class CallReliability(Resource):
    """Tool calls of an answer on average, the share of all calls that failed, and of each fault among all calls."""

    calls: float
    failed: float
    faults: dict[str, float]


class AnswerCost(Resource):
    """Means of an answer. `seconds` are those of the whole evaluation by the clock, with its waits.

    `money` is for an answer's tokens at the newest prices; null where tokens have no price.
    """

    prompt_tokens: float
    completion_tokens: float
    seconds: float
    money: float | None = None
    currency: str | None = None


class Standing(Resource):
    """One checkpoint on a leaderboard, by one evaluation of a run: that of the weights after `step`.

    `model` names the checkpoint: a registered model, or RUN@STEP. `score` is the mean over tasks, from 0 to 100, with
    an interval by a bootstrap over tasks; `passed` the share of tasks with a full score, with Wilson's interval;
    `behind` the first one's lead, task by task: where it is not `real`, the two cannot be told apart. `failures` are
    failed checks of an answer by class, `false_claims` the share of answers that report what was not done, `collateral`
    the changes of an answer that no task allows. An evaluation that is not `complete` lacks tasks, and has no rank.
    """

    rank: int | None
    model: str
    run_id: str
    run_name: str
    step: int
    evaluated_at: datetime | None
    complete: bool
    tasks: int
    answers: int
    masked: int
    score: Estimate
    passed: Estimate
    behind: Estimate
    families: list[TaskGroup]
    difficulties: list[TaskGroup]
    reliability: CallReliability
    cost: AnswerCost
    failures: dict[str, float]
    false_claims: float
    collateral: float
    conditions: dict[str, Any]


class Leaderboard(Resource):
    """Checkpoints by their score on a benchmark. `conditions` that differ between them are named in `differing`.

    `truncated`: there are more evaluations than are read.
    """

    benchmark: Benchmark
    series: str
    standings: list[Standing]
    differing: list[str]
    truncated: bool = False


class ExaminedTask(Resource):
    """One answer to a task of a benchmark: where its sample is, and what became of it. `score` null: it is masked."""

    family: str
    seed: int
    difficulties: list[str]
    group_id: int
    index: int
    score: float | None
    passed: bool
    calls: float
    failed_calls: float
    completion_tokens: int
    failures: dict[str, float]
    collateral: float


class Examination(Resource):
    """One evaluation of a benchmark, answer by answer."""

    standing: Standing
    answers: list[ExaminedTask]
