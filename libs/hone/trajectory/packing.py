"""Packing: the trajectories of a step become token rows for training. numpy only.

    pack(plan, trajectories) -> Batch            rows in (request_no, index) order, with the inputs of estimators
    hone.trajectory.microbatches.cut(batch, ...) the rows as flat token arrays without padding, within a token budget

A call whose prompt extends the previous prompt and completion is merged into the same row, with a mask. Any other call
begins a new row. A trajectory counts once in every statistic, however many rows it has.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hone.trajectory.plan import GroupPlan, StepPlan
from hone.trajectory.records import Call, Span, Trajectory
from hone.trajectory.turns import Turns, turns

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


class Unpackable(ValueError):
    """The plan and the trajectories do not fit together."""


@dataclass(frozen=True)
class Row:
    """One causal sequence: a prompt and the tokens after it, up to the last trained token.

    `trained[k]` is an index into `response`. `logp_sample[k]` is that token's log-probability when it was sampled
    (nats; 0 for demonstrations).
    """

    prompt: tuple[int, ...]
    response: list[int]
    trained: list[int]
    logp_sample: list[float]
    calls: tuple[int, ...]  # indices of the merged calls
    kind: str  # of the first call

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The ids from which the row's tokens are predicted: all but the last."""
        return (*self.prompt, *self.response[:-1])


@dataclass(frozen=True)
class Spans:
    """The named spans of M trained tokens: trajectory after trajectory, in the order of their calls."""

    inside: Mapping[str, Flags] = field(default_factory=dict)  # [M] each, by name
    weight: Floats | None = None  # [M], factor of a token's loss; None: 1 for all
    step: Ints | None = None  # [M], number of the step that holds the token, the later one of two; -1: none;
    #                           None: the grader scored no step
    score: Floats | None = None  # [S], what the grader gave each step, by its number


@dataclass(frozen=True)
class Batch:
    """The B trajectories of a step that count. Masked, rejected and untrained trajectories are left out."""

    rows: list[list[Row]]  # of each trajectory, in call order
    keys: list[tuple[int, int]]  # (request_no, index) of each trajectory
    reward: Floats  # [B]; demonstrations have 0, the chosen side of a pair 1, the rejected side 0
    group: Ints  # [B], equal numbers share the prompt; ascending
    baseline: Floats  # [B], NaN: there is none
    tokens: Ints  # [B], number of trained tokens
    components: dict[str, Floats]  # [B] each, parts of the raw reward by name; NaN: the sample has no such part
    turns: Turns
    version: list[str]  # [B], the version that sampled each trajectory; empty if several did
    masked_samples: int  # left out: without reward, or cut off if the plan drops those
    rejected_rows: int  # left out: a reward or log-probability is not a finite number
    truncated: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))  # [B], the policy could not finish
    spans: Spans = field(default_factory=Spans)
    source: list[str] = field(default_factory=list)  # [B], name of the task's source; "": the task is no mixture
    predicted: Floats = field(default_factory=lambda: np.zeros(0))  # [B], chance of success; NaN: there is none

    @property
    def offsets(self) -> Ints:
        """Index of each trajectory's first trained token in the step's flat order, [B]."""
        return np.cumsum(self.tokens) - self.tokens

    @cached_property
    def logp_sample(self) -> Floats:
        """The sampler's log-probabilities of the trained tokens, [M], nats."""
        return np.array([logp for rows in self.rows for row in rows for logp in row.logp_sample], np.float64)


@dataclass(frozen=True)
class _Sample:
    trajectory: Trajectory
    group: int
    reward: float | None
    baseline: float
    components: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    predicted: float = math.nan


def pack(plan: StepPlan, trajectories: Sequence[Trajectory]) -> Batch:
    """Return the step's rows. The order of `trajectories` matters only if they are not rollouts.

    Raises Unpackable when a planned group's trajectories are missing, given twice or not as many as its rewards, or a
    row has an empty prompt.
    """
    samples = list(_rollouts(plan.groups, trajectories) if plan.sampled else _GIVEN[plan.builder](trajectories))
    valid = [sample for sample in samples if not _masked(sample, plan)]
    finite = [sample for sample in valid if _finite(sample, sampled=plan.sampled)]
    packed = [(sample, rows(sample.trajectory)) for sample in finite]
    counted = [(sample, found) for sample, found in packed if found]
    return Batch(
        rows=[found for _, found in counted],
        keys=[(sample.trajectory.request_no, sample.trajectory.index) for sample, _ in counted],
        reward=np.array([sample.reward for sample, _ in counted], np.float64),
        group=np.array([sample.group for sample, _ in counted], np.int64),
        baseline=np.array([sample.baseline for sample, _ in counted], np.float64),
        tokens=np.array([sum(len(row.trained) for row in found) for _, found in counted], np.int64),
        components=_components([sample.components for sample, _ in counted]),
        turns=turns([sample.trajectory for sample, _ in counted]),
        version=[_version(sample.trajectory) for sample, _ in counted],
        masked_samples=len(samples) - len(valid),
        rejected_rows=len(valid) - len(finite),
        truncated=np.array([_unfinished(sample.trajectory) for sample, _ in counted], np.bool_),
        spans=spans([sample.trajectory for sample, _ in counted]), source=[sample.source for sample, _ in counted],
        predicted=np.array([sample.predicted for sample, _ in counted], np.float64),
    )


def sequences(ids: Sequence[Sequence[int]]) -> Batch:
    """Return sequences of at least 2 tokens each as a batch in which every token but the first is trained."""
    found = [Row((first,), rest, list(range(len(rest))), [0.0] * len(rest), (0,), "answer") for first, *rest in ids]
    count = len(found)
    return Batch(
        rows=[[row] for row in found], keys=[(place, 0) for place in range(count)], reward=np.zeros(count),
        group=np.arange(count), baseline=np.full(count, math.nan),
        tokens=np.array([len(row.trained) for row in found], np.int64), components={}, turns=turns([]),
        version=[""] * count,
        masked_samples=0, rejected_rows=0, truncated=np.zeros(count, np.bool_),
    )


def rows(trajectory: Trajectory) -> list[Row]:
    """Return the rows of a trajectory's policy calls that have a trained token.

    Raises Unpackable when a prompt is empty: the first token of the completion could not be predicted.
    """
    for call in trajectory.calls:
        if call.role == "policy" and not call.prompt_ids:
            raise Unpackable(f"trajectory {trajectory.group_id}/{trajectory.index} call {call.index}: empty prompt")
    return [row for row in map(_row, runs(trajectory.calls)) if row.trained]


def runs(calls: Iterable[Call]) -> list[list[Call]]:
    """Return the policy's calls in runs: each prompt of a run begins with all of the call before it."""
    found: list[list[Call]] = []
    text: list[int] = []
    for call in calls:
        if call.role != "policy":
            continue
        if found and call.prompt_ids[:len(text)] == text:
            found[-1].append(call)
        else:
            found.append([call])
        text = call.prompt_ids + call.completion_ids
    return found


def spans(trajectories: Sequence[Trajectory]) -> Spans:
    """Return the spans of the policy's calls. Overlapping weights multiply; outside of spans they are 1."""
    calls = [call for trajectory in trajectories for call in trajectory.calls if call.role == "policy"]
    names = sorted({span.name for call in calls for span in call.spans})
    if not names:
        return Spans()
    tokens = sum(sum(call.train_mask) for call in calls)
    inside, weight = {name: np.zeros(tokens, np.bool_) for name in names}, np.ones(tokens)
    step, scores = np.full(tokens, -1), list[float]()
    for span, within in _placed_spans(calls):
        inside[span.name][within] = True
        weight[within] *= span.weight
        if span.score is not None:
            step[within] = len(scores)
            scores.append(span.score)
    steps = (step, np.array(scores, np.float64)) if scores else (None, None)
    return Spans(inside, None if (weight == 1).all() else weight, *steps)


def _placed_spans(calls: Iterable[Call]) -> Iterator[tuple[Span, slice]]:
    """Yield each span of calls, and where its tokens are among all that are trained."""
    first = 0
    for call in calls:
        trained = first + np.cumsum([0, *call.train_mask])  # before each token
        yield from ((span, slice(trained[span.start], trained[span.end])) for span in call.spans)
        first = int(trained[-1])


def _row(calls: list[Call]) -> Row:
    prompt = calls[0].prompt_ids
    response: list[int] = []
    trained: list[int] = []
    logp_sample: list[float] = []
    for call in calls:
        response += call.prompt_ids[len(prompt) + len(response):]
        places = [place for place, trains in enumerate(call.train_mask) if trains]
        trained += [len(response) + place for place in places]
        logp_sample += [call.logp_sample[place] if call.logp_sample else 0.0 for place in places]
        response += call.completion_ids
    last = trained[-1] + 1 if trained else 0
    return Row(tuple(prompt), response[:last], trained, logp_sample, tuple(call.index for call in calls), calls[0].kind)


def _demonstrations(trajectories: Sequence[Trajectory]) -> Iterable[_Sample]:
    for place, trajectory in enumerate(trajectories):
        yield _Sample(trajectory, place, 0.0, math.nan)


def _pairs(trajectories: Sequence[Trajectory]) -> Iterable[_Sample]:
    """Yield pairs as groups of two, in which the chosen side has index 0."""
    for trajectory in trajectories:
        yield _Sample(trajectory, trajectory.request_no, 1.0 - trajectory.index, math.nan)


_GIVEN: Mapping[str, Callable[[Sequence[Trajectory]], Iterable[_Sample]]] = {
    "dataset": _demonstrations, "pairs": _pairs, "selskill": _pairs}
"""Readers of parts that hold a step's rows by themselves."""


def _rollouts(groups: Sequence[GroupPlan], trajectories: Sequence[Trajectory]) -> Iterable[_Sample]:
    found: dict[int, dict[int, Trajectory]] = {group.group_id: {} for group in groups}
    for trajectory in trajectories:
        group = found.get(trajectory.group_id)
        if group is None or trajectory.index in group:
            raise Unpackable(f"trajectory {trajectory.group_id}/{trajectory.index}: not planned, or given twice")
        group[trajectory.index] = trajectory
    for place, plan in enumerate(sorted(groups, key=lambda group: group.request_no)):
        samples = found[plan.group_id]
        if sorted(samples) != list(range(len(plan.rewards))):
            raise Unpackable(f"group {plan.group_id}: found samples {sorted(samples)}, expected {len(plan.rewards)}")
        baseline, predicted = (math.nan if known is None else known for known in (plan.baseline, plan.predicted))
        components = plan.components or [{}] * len(plan.rewards)
        for index, (reward, parts) in enumerate(zip(plan.rewards, components, strict=True)):
            yield _Sample(samples[index], place, reward, baseline, parts, plan.source, predicted)


def _components(parts: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    names = sorted({name for one in parts for name in one})
    return {name: np.array([one.get(name, math.nan) for one in parts], np.float64) for name in names}


def _masked(sample: _Sample, plan: StepPlan) -> bool:
    if sample.reward is None:
        return True
    return plan.slots.get("truncated") == "drop" and _cut_off(sample.trajectory)


def _cut_off(trajectory: Trajectory) -> bool:
    return any(call.finish_reason == "length" for call in trajectory.calls if call.role == "policy")


def _unfinished(trajectory: Trajectory) -> bool:
    return _cut_off(trajectory) or trajectory.ended == "max_context"


def _finite(sample: _Sample, *, sampled: bool) -> bool:
    calls = [call for call in sample.trajectory.calls if call.role == "policy"]
    known = not sampled or all(len(call.logp_sample) == len(call.completion_ids) for call in calls)
    values = [logp for call in calls for logp in call.logp_sample]
    paid = [value for step in sample.trajectory.steps for value in (step.reward or 0.0, *step.rules.values())]
    paid += [value for call in calls for value in (*call.rules.values(), *call.scores.values())]
    paid += [span.score or 0.0 for call in calls for span in call.spans]
    return known and all(map(math.isfinite, [*values, *paid, sample.reward or 0.0]))


def _version(trajectory: Trajectory) -> str:
    calls = [call for call in trajectory.calls if call.role == "policy"]
    found = {span.version_id for call in calls for span in call.versions}
    return found.pop() if len(found) == 1 else ""
