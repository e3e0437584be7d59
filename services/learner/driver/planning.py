"""From graded samples to the plan of a step: filter (S2), reward processing (S3) and learning rate (S10). No I/O."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import correlation
from typing import Any, Literal

from hone.algorithms import mixtures
from hone.algorithms.catalogue import FILTERS, REWARDS, SCHEDULES
from hone.algorithms.inputs import FilterInputs, Progress, RewardInputs
from hone.algorithms.method import State
from hone.algorithms.slots import method
from hone.resolution import scores, sources
from hone.spec.run import RunSpec
from hone.store.database import Row
from hone.trajectory.plan import GroupPlan, StepPlan, of_source
from services.learner.driver import budgets
from services.learner.driver.pacing import staleness


@dataclass(frozen=True)
class Choice:
    """The ready groups that a step would use, and those that its filter removes."""

    kept: list[list[Row]]
    filtered: list[list[Row]]
    metrics: dict[str, float]
    state: State = field(default_factory=dict)  # of the filter

    @property
    def samples(self) -> list[Row]:
        """Samples that the step would use, in order."""
        return [row for group in self.kept for row in group]

    @property
    def filtered_ids(self) -> list[int]:
        """Group ids that the filter removes."""
        return [group[0]["group_id"] for group in self.filtered]


def choose(
    samples: list[Row], slots: Mapping[str, Any], prompts: int, states: Mapping[str, State],
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Choice:
    """Apply the filter (S2) to the groups of `samples`, and keep the first `prompts` groups that it lets pass.

    `samples` has the rows of a group together. `states` has the state of each slot after the step before. `bounds` are
    the smallest and the largest score of the grader.
    """
    groups = [list(rows) for _, rows in groupby(samples, key=lambda row: row["group_id"])]
    slot = slots["filter"]
    rewards = [[row["score"] for row in group] for group in groups]
    candidates = FilterInputs(rewards, [_mean_length(group) for group in groups], bounds)
    counts, state, metrics = FILTERS[slot["name"]](candidates, slot["params"], states.get("filter", {}))
    kept = [group for group, counted in zip(groups, counts, strict=True) if counted]
    filtered = [group for group, counted in zip(groups, counts, strict=True) if not counted]
    return Choice(kept[:prompts], filtered, metrics, state)


def every_group(samples: list[Row]) -> Choice:
    """Choose all groups of `samples`, without a filter."""
    return Choice([list(rows) for _, rows in groupby(samples, key=lambda row: row["group_id"])], [], {})


def _mean_length(group: list[Row]) -> float:
    return float(sum(row["completion_tokens"] for row in group)) / len(group)


def learning_rate(spec: RunSpec, n: int) -> float:
    """Return the learning rate of step `n` (S10)."""
    schedule = SCHEDULES[spec.optimizer.schedule]
    factor, _, _ = schedule(Progress(n, spec.steps), spec.optimizer.schedule_params, {})
    return spec.optimizer.lr * factor


def rollout_plan(
    spec: RunSpec, slots: Mapping[str, Any], n: int, choice: Choice, baselines: Callable[[list[str]], dict[str, float]],
    first: int = 1,
) -> tuple[StepPlan, dict[str, float]]:
    """Return the plan of step `n` over the chosen groups, and the metrics of its data.

    `spec` is the spec of its stage, which begins at step `first`. `baselines` maps task hashes to mean earlier
    outcomes.
    """
    samples = choice.samples
    rewards, _ = _processed_rewards(samples, slots)
    hashes = [group[0]["task_hash"] for group in choice.kept]
    shaped = slots["reward"]["name"] != "none"  # earlier outcomes are not
    known = baselines(hashes) if method(slots, "advantage").reads_baseline and not shaped else {}
    by_place = iter(rewards)
    plan = StepPlan(
        n=n, first=first, steps=spec.steps, builder="rollouts", parts=sorted({row["part"] for row in samples}),
        groups=[_group_plan(group, [next(by_place) for _ in group], known) for group in choice.kept],
        slots=dict(slots), lr=learning_rate(spec, n - first + 1), clip_norm=spec.optimizer.clip_norm,
        temperature=spec.sampling.temperature,
        max_tokens=max(one.spec.sampling.max_tokens for one in sources.of(spec)),
        minibatches=spec.batch.minibatches, epochs=spec.batch.epochs, teacher=_teacher(spec),
        top_k=spec.contexts.top_k, state={"filter": choice.state}, bounds=scores.bounds(spec),
        gap_alarm_nats=spec.gap_alarm_nats)
    bounds = {one.name: scores.bounds(one.spec) for one in sources.of(spec)}
    return plan, {**sample_metrics(n, choice, slots), "reward/between": _between(samples, bounds),
                  **source_metrics(choice.kept, bounds), **sampler_metrics(choice.kept),
                  **budgets.metrics(choice.kept, plan.bounds)}


def _between(samples: list[Row], bounds: Mapping[str, tuple[float, float]]) -> float:
    """Return the share of graded samples that are neither fully right nor fully wrong."""
    graded = [row for row in samples if row["score"] is not None]
    return sum(row["score"] not in bounds[row["source"]] for row in graded) / max(1, len(graded))


def source_metrics(groups: Sequence[list[Row]], bounds: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Return the metrics of each source of a mixture in a step; {} where the task is none.

    `bounds` are the smallest and the largest score of each source's grader.
    """
    if "" in bounds:
        return {}
    own = {name: [group for group in groups if group[0]["source"] == name] for name in bounds}
    signals = mixtures.effective_shares({
        name: [[row["score"] for row in group] for group in found] for name, found in own.items()})
    metrics = dict[str, float]()
    for name, found in own.items():
        samples = [row for group in found for row in group]
        measured = {"groups": float(len(found)), "signal_share": signals[name]}
        if samples:
            measured |= {**_data_metrics(samples), "reward/between": _between(samples, bounds)}
        if graded := [row["score"] for row in samples if row["score"] is not None]:
            measured["reward/pass_rate"] = sum(score >= bounds[name][1] for score in graded) / len(graded)
        metrics |= of_source(name, measured)
    return metrics


def sample_metrics(n: int, choice: Choice, slots: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of the samples of step `n`."""
    _, reward_metrics = _processed_rewards(choice.samples, slots)
    return {**choice.metrics, **reward_metrics, **_data_metrics(choice.samples), **_staleness_metrics(n, choice.kept)}


def _teacher(spec: RunSpec) -> Literal["", "model", "context"]:
    if spec.roles.teacher is not None:
        return "model"
    return "context" if spec.contexts.privileged else ""


def with_components(samples: list[Row], found: list[Row]) -> list[Row]:
    """Return the samples with the components of their rewards. `found` has the components by group and index."""
    parts = {(row["group_id"], row["index"]): row["components"] for row in found}
    return [{**row, "components": parts.get((row["group_id"], row["index"]), {})} for row in samples]


def with_budgets(samples: list[Row], found: list[Row]) -> list[Row]:
    """Return the samples with the budgets of their groups' orders, which `found` has by group."""
    by_group = {row["group_id"]: row["budget"] for row in found}
    return [{**row, "budget": by_group.get(row["group_id"])} for row in samples]


def with_samplings(samples: list[Row], found: list[Row]) -> list[Row]:
    """Return the samples with what a sampler knew of their groups' tasks, which `found` has by group."""
    by_group = {row["group_id"]: row["sampled"] for row in found}
    return [{**row, "sampled": by_group.get(row["group_id"])} for row in samples]


def sampler_metrics(groups: Sequence[Sequence[Row]]) -> dict[str, float]:
    """Return how many groups a manifest chose, and what it says of their tasks, mean over these; {} without one."""
    if not groups or "sampled" not in groups[0][0]:
        return {}
    chosen = [found for group in groups if (found := group[0]["sampled"]) is not None]
    means = {f"sampler/{name}": sum(found[name] for found in chosen) / len(chosen) for name in (chosen or [{}])[0]}
    return {"sampler/chosen_share": len(chosen) / len(groups), **means}


def supervised_plan(spec: RunSpec, slots: Mapping[str, Any], n: int, part: str, first: int = 1) -> StepPlan:
    """Return the plan of step `n` over all rows of one part, in a stage that begins at step `first`."""
    return StepPlan(
        n=n, first=first, steps=spec.steps, builder=slots["builder"]["name"], parts=[part], groups=[],
        slots=dict(slots), lr=learning_rate(spec, n - first + 1), clip_norm=spec.optimizer.clip_norm,
        temperature=1.0, max_tokens=spec.sampling.max_tokens, gap_alarm_nats=spec.gap_alarm_nats)


def _processed_rewards(samples: list[Row], slots: Mapping[str, Any]) -> tuple[list[float | None], dict[str, float]]:
    slot = slots["reward"]
    inputs = RewardInputs([row["score"] for row in samples], [row["completion_tokens"] for row in samples],
                          [row["finish_reason"] == "length" for row in samples])
    rewards, _, metrics = REWARDS[slot["name"]](inputs, slot["params"], {})
    return rewards, metrics


def _group_plan(group: list[Row], rewards: list[float | None], baselines: dict[str, float]) -> GroupPlan:
    head = group[0]
    return GroupPlan(
        group_id=head["group_id"], request_no=head["request_no"], task_hash=head["task_hash"],
        source=head["source"], parts=sorted({row["part"] for row in group}),
        grade_ids=[row["grade_id"] for row in group], rewards=rewards, baseline=baselines.get(head["task_hash"]),
        predicted=budgets.used_prediction(group),
        components=[row["components"] for row in group] if "components" in head else [])


def _staleness_metrics(n: int, groups: list[list[Row]]) -> dict[str, float]:
    found = [staleness(n, group[0]["oldest"]) for group in groups if group[0]["oldest"] is not None]
    return {"staleness/mean": sum(found) / len(found), "staleness/max": float(max(found))} if found else {}


def _data_metrics(samples: list[Row]) -> dict[str, float]:
    graded = [row["score"] for row in samples if row["score"] is not None]
    lengths = [row["completion_tokens"] for row in samples]
    own = [row["completion_tokens"] for row in samples if row["score"] is not None]
    varied = len(set(graded)) > 1 and len(set(own)) > 1
    return {
        **({"reward/length_correlation": correlation(graded, own)} if varied else {}),
        "reward/mean": sum(graded) / len(graded) if graded else 0.0,
        "reward/masked": float(len(samples) - len(graded)),
        "completion/mean_tokens": sum(lengths) / max(1, len(lengths)),
        "completion/max_tokens": float(max(lengths, default=0)),
        "completion/tokens": float(sum(lengths)),
        "completion/truncated": sum(row["finish_reason"] == "length" for row in samples) / max(1, len(samples)),
    }
