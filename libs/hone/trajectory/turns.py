"""Turns: the policy calls of a step's trajectories, as estimators that credit each of them read them. numpy only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hone.trajectory.records import Call, Step, Trajectory


@dataclass(frozen=True)
class Turns:
    """The T policy calls of a step's trajectories: trajectory after trajectory, in the order of their tokens."""

    trajectory: NDArray[np.int64]  # [T], place among the B; ascending
    tokens: NDArray[np.int64]  # [T], trained ones, 0 or more; those of a trajectory's turns add up to its own
    reward: NDArray[np.float64]  # [T], the turn's own (rules, penalties), without the outcome
    observation: NDArray[np.int64]  # [T], equal numbers: the policy saw the same text before it
    kind: tuple[str, ...]  # [T], what the call was for
    rules: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)  # [T] each, unweighted parts of `reward`


def turns(trajectories: Sequence[Trajectory]) -> Turns:
    """Return the policy calls of trajectories in their order.

    A turn's reward is what the environment paid for the steps that its call took; what a rule gave a turn is what it
    gave them, 0 where it graded none. What the policy saw is what the environment answered last before the call; before
    the first answer it is the task.
    """
    seen: dict[str, int] = {}
    calls = [(place, call, *told) for place, trajectory in enumerate(trajectories)
             for call, told in _told(trajectory)]
    return Turns(
        np.array([place for place, *_ in calls], np.int64),
        np.array([sum(call.train_mask) for _, call, _, _ in calls], np.int64),
        np.array([sum(step.reward or 0.0 for step in taken) for *_, taken in calls], np.float64),
        np.array([seen.setdefault(hashed, len(seen)) for _, _, hashed, _ in calls], np.int64),
        tuple(call.kind for _, call, _, _ in calls),
        _rules([taken for *_, taken in calls]),
    )


def _rules(turns: Sequence[Sequence[Step]]) -> dict[str, NDArray[np.float64]]:
    """Return what each rule gave each turn's steps, [T] each."""
    names = sorted({name for taken in turns for step in taken for name in step.rules})
    return {name: np.array([sum(step.rules.get(name, 0.0) for step in taken) for taken in turns], np.float64)
            for name in names}


def _told(trajectory: Trajectory) -> Iterator[tuple[Call, tuple[str, list[Step]]]]:
    """Yield each policy call with the hash of what it saw and the steps that it took."""
    seen = trajectory.task_hash
    for call in trajectory.calls:
        taken = [step for step in trajectory.steps if step.call == call.index]
        if call.role == "policy":
            yield call, (seen, taken)
        seen = taken[-1].observation_hash if taken else seen
