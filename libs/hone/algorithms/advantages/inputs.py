"""What estimators read. numpy, float64.

One entry per trajectory that counts: samples with a null reward, rejected rows and rows without a trained token are
left out by the caller. Tokens are the trained ones only, trajectory after trajectory, so nothing here knows of masks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hone.trajectory.packing import Batch
from hone.trajectory.plan import StepPlan
from hone.trajectory.turns import Turns

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class AdvantageInputs:
    """B trajectories of a step with M trained tokens in all; what has a default is there where the params need it."""

    reward: Floats  # [B], after S3
    group: Ints  # [B], equal numbers share the prompt
    tokens: Ints  # [B], trained tokens of each, at least 1; sums to M
    baseline: Floats  # [B], mean of the prompt's earlier outcomes; NaN where there are none
    kl: Floats | None = None  # [M], logp_old - logp_ref
    logp_old: Floats | None = None  # [M], nats
    logp_teacher: Floats | None = None  # [M], nats; -inf where the teacher cannot say the token
    values: Floats | None = None  # [M], of the critic, before the token
    components: Mapping[str, Floats] = field(default_factory=dict)  # [B] each, raw rewards by name; NaN: not active
    spans: Mapping[str, Flags] = field(default_factory=dict)  # [M] each, tokens inside spans by name, where there are
    turns: Turns | None = None
    step: int = 0  # steps of the run before this one
    steps: int = 1  # of the run

    @classmethod
    def of(cls, batch: Batch, plan: StepPlan) -> "AdvantageInputs":
        """Return what a step's packed batch tells by itself, without what models say of its tokens."""
        return cls(batch.reward, batch.group, batch.tokens, batch.baseline, components=batch.components,
                   spans=batch.spans.inside, turns=batch.turns, step=plan.nth - 1, steps=plan.steps)

    def inside(self, span: str) -> Flags:
        """Return which tokens are inside a span of that name, [M]; none where no sample has one."""
        return self.spans.get(span, np.zeros(int(self.tokens.sum()), np.bool_))


@dataclass(frozen=True)
class Track:
    """A part of the loss that is averaged over tokens of its own."""

    name: str
    advantage: Floats  # [M]
    counts: Flags  # [M], the tokens it is averaged over; elsewhere the advantage counts for nothing
    weight: float = 1.0
    loss: Literal["policy", "reinforce", "teacher_k3", "teacher_kl"] = "policy"  # policy: what S7 is filled with; else
    #                                                                              this one of S7's, with its defaults


Estimate: TypeAlias = Floats | list[Track]
"""One advantage for each trained token, [M], or several tracks with theirs."""
