"""Turns: the policy calls of a step's trajectories, for estimators that give each turn its own credit. numpy only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hone.trajectory.records import Call, Step, Trajectory


@dataclass(frozen=True)
class Turns:
    """The T policy calls of a step's trajectories: trajectory after trajectory, in the order of their tokens."""

    trajectory: NDArray[np.int64]  # [T], index of the trajectory in the batch; ascending
    tokens: NDArray[np.int64]  # [T], number of trained tokens, 0 or more
    reward: NDArray[np.float64]  # [T], of the turn itself (rules, penalties, its grade), without the outcome
    observation: NDArray[np.int64]  # [T], equal numbers: the policy saw the same text before the turn
    kind: tuple[str, ...]  # [T], purpose of the call
    rules: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)  # [T] each, unweighted parts of `reward`
    answered: NDArray[np.bool_] | None = None  # [T], did the environment say something after the turn?
    key: NDArray[np.int64] | None = None  # [T], equal numbers: calls of one group key of a group; None: there are none
    graded: NDArray[np.bool_] | None = None  # [T], did the grader give the turn a score of its own? None: it gave none


def turns(trajectories: Sequence[Trajectory]) -> Turns:
    """Return the policy calls of trajectories in their order.

    A turn's reward is the sum of the environment's rewards for the steps of its call and of what its harness and its
    grader gave it. A rule's score of a turn is the sum of its scores, 0 if it scored none. The observation of a turn is
    the environment's last answer before the call, on its own branch, or the task if there was none.
    """
    seen: dict[str, int] = {}
    calls = [(place, *turn) for place, trajectory in enumerate(trajectories) for turn in _turns(trajectory)]
    return Turns(
        np.array([place for place, *_ in calls], np.int64),
        np.array([sum(call.train_mask) for _, call, _, _ in calls], np.int64),
        np.array([_paid(call, taken) for _, call, _, taken in calls], np.float64),
        np.array([seen.setdefault(hashed, len(seen)) for _, _, hashed, _ in calls], np.int64),
        tuple(call.kind for _, call, _, _ in calls),
        _rules([(call, taken) for _, call, _, taken in calls]),
        np.array([any(step.said for step in taken) for *_, taken in calls], np.bool_),
        _keys([(trajectories[place].group_id, call.group_key) for place, call, *_ in calls]),
        np.array([bool(call.scores) for _, call, *_ in calls], np.bool_),
    )


def _keys(keys: Sequence[tuple[int, str | None]]) -> NDArray[np.int64] | None:
    """Return a number for each distinct key, [T]; None without group keys."""
    if not any(name for _, name in keys):
        return None
    numbers: dict[tuple[int, str | None], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _paid(call: Call, taken: Sequence[Step]) -> float:
    """Return the reward of a turn: from the environment for its steps, from the harness, and from the grader."""
    return sum(step.reward or 0.0 for step in taken) + sum(call.rules.values()) + sum(call.scores.values())


def _rules(turns: Sequence[tuple[Call, Sequence[Step]]]) -> dict[str, NDArray[np.float64]]:
    """Return each rule's score of each turn, [T] each: of the environment's rules, the harness's and the grader's."""
    given = [[call.rules, call.scores, *(step.rules for step in taken)] for call, taken in turns]
    names = sorted({name for rules in given for one in rules for name in one})
    return {name: np.array([sum(one.get(name, 0.0) for one in rules) for rules in given], np.float64)
            for name in names}


def _turns(trajectory: Trajectory) -> Iterator[tuple[Call, str, list[Step]]]:
    """Yield each policy call with the hash of its observation and its steps."""
    seen = trajectory.task_hash
    after = {"": seen}  # what was seen after each call, by its number
    for call in trajectory.calls:
        taken = [step for step in trajectory.steps if step.call == call.index]
        seen = after.get(call.parent, seen) if call.parent is not None else seen
        if call.role == "policy":
            yield call, seen, taken
        seen = after[call.number] = taken[-1].observation_hash if taken else seen
