"""Spans: the named parts of what a step's trajectories say, as losses and estimators read them. numpy only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hone.trajectory.records import Trajectory


@dataclass(frozen=True)
class Spans:
    """What M trained tokens are part of: trajectory after trajectory, in the order of their calls."""

    inside: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)  # [M] each, by name
    weight: NDArray[np.float64] | None = None  # [M], factor of a token's loss; None: 1 everywhere


def spans(trajectories: Sequence[Trajectory]) -> Spans:
    """Return the spans of the policy's calls. The weights of spans that overlap multiply; outside it is 1."""
    calls = [call for trajectory in trajectories for call in trajectory.calls if call.role == "policy"]
    names = sorted({span.name for call in calls for span in call.spans})
    if not names:
        return Spans()
    tokens = sum(sum(call.train_mask) for call in calls)
    inside, weight, first = {name: np.zeros(tokens, np.bool_) for name in names}, np.ones(tokens), 0
    for call in calls:
        trained = first + np.cumsum([0, *call.train_mask])  # before each token
        for span in call.spans:
            within = slice(trained[span.start], trained[span.end])
            inside[span.name][within] = True
            weight[within] *= span.weight
        first = int(trained[-1])
    return Spans(inside, None if (weight == 1).all() else weight)
