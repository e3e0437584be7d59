"""The inputs of every slot's methods: what a filter, a reward, an advantage, a loss ... reads.

Inputs up to the modulation are numpy, float64, for a whole step. Inputs of corrections, losses and regularizers are
tensors, float32, for a micro-batch. [B] is one value for each trajectory, [M] one for each trained token, trajectory
after trajectory. Samples without a reward, refused rows and rows without a trained token are left out by the caller.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hone.trajectory.packing import Batch
from hone.trajectory.plan import StepPlan
from hone.trajectory.turns import Turns

if TYPE_CHECKING:
    from torch import Tensor

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

MAX_LOG_RATIO = 20.0
"""Log-ratios are clamped to +- this; no gradient flows where the clamp is active."""

Groups = Sequence[Sequence[float | None]]
"""Raw rewards of each group's samples. None: the grader or the system failed, and the sample is masked."""


@dataclass(frozen=True)
class FilterInputs:
    """Filter (S2): a step's candidate groups of all sampling rounds so far, in order of arrival."""

    rewards: Groups
    lengths: Sequence[float] = ()  # mean completion length of each group's rollouts, in tokens
    bounds: tuple[float, float] = (0.0, 1.0)  # smallest and largest reward


Rewards: TypeAlias = list[float | None]
"""A reward of each sample; None masks the sample."""


@dataclass(frozen=True)
class RewardInputs:
    """Reward (S3): the samples of a step, in order."""

    rewards: list[float | None]  # of the task; None masks the sample
    lengths: list[int]  # completion tokens
    truncated: list[bool]  # whether the completion was cut off at the longest allowed length

    def finite(self) -> tuple[Rewards, int]:
        """Return the rewards with None for each that is NaN or infinite, and the number of those."""
        kept = [reward if reward is not None and math.isfinite(reward) else None for reward in self.rewards]
        return kept, sum(before is not None and after is None for before, after in zip(self.rewards, kept, strict=True))


@dataclass(frozen=True)
class AdvantageInputs:
    """Advantage (S4): B trajectories of a step with M trained tokens. A method's `needs` name fields with defaults."""

    reward: Floats  # [B], after reward shaping
    group: Ints  # [B], number of the group: equal numbers share the prompt
    tokens: Ints  # [B], trained tokens of each, at least 1; sums to M
    baseline: Floats  # [B], mean of the prompt's earlier outcomes; NaN where there are none
    kl: Floats | None = None  # [M], logp_old - logp_ref
    logp_old: Floats | None = None  # [M], nats
    logp_teacher: Floats | None = None  # [M], nats; -inf where the teacher cannot say the token
    values: Floats | None = None  # [M], the critic's value before the token
    components: Mapping[str, Floats] = field(default_factory=dict)  # [B] each, raw rewards by name; NaN: not active
    spans: Mapping[str, Flags] = field(default_factory=dict)  # [M] each by name: is the token inside such a span?
    turns: Turns | None = None
    truncated: Flags | None = None  # [B], was a call cut off, or did its context end the episode? None: none was
    step: int = 0  # steps of the run before this one
    steps: int = 1  # steps of the run
    source: Sequence[str] = ()  # [B], name of the task's source in a mixture; empty or "": there is none
    predicted: Floats | None = None  # [B], predicted chance that the prompt's samples succeed; NaN: there is none
    bounds: tuple[float, float] = (0.0, 1.0)  # smallest and largest reward

    @classmethod
    def of(cls, batch: Batch, plan: StepPlan) -> "AdvantageInputs":
        """Return the inputs that a packed batch holds by itself; log-probabilities and values are left None."""
        return cls(batch.reward, batch.group, batch.tokens, batch.baseline, components=batch.components,
                   source=batch.source, spans=batch.spans.inside, turns=batch.turns, truncated=batch.truncated,
                   step=plan.nth - 1, steps=plan.steps, predicted=batch.predicted, bounds=plan.bounds)

    def chance(self, rows: Ints) -> float | None:
        """Return the chance that was predicted for a group with these rows; None where there was none."""
        if self.predicted is None or not len(self.predicted) or math.isnan(chance := self.predicted[rows[0]]):
            return None
        return float(chance)

    def inside(self, span: str) -> Flags:
        """Return whether each token is inside a span of that name, [M]; all False where no sample has such a span."""
        return self.spans.get(span, np.zeros(int(self.tokens.sum()), np.bool_))


@dataclass(frozen=True)
class Track:
    """A part of the policy loss that is averaged over tokens of its own."""

    name: str
    advantage: Floats  # [M]
    counts: Flags  # [M], the tokens that the part is averaged over; other tokens have no loss in it
    weight: float = 1.0
    loss: Literal["policy", "reinforce", "teacher_k3", "teacher_kl"] = "policy"  # policy: the method in the loss slot;
    #                                                                              else this loss with its defaults


Estimate: TypeAlias = Floats | list[Track]
"""One advantage for each trained token, [M], or several tracks that hold one each."""


@dataclass(frozen=True)
class ModulationInputs:
    """Modulation (S5): M trained tokens of a step or, for `Method.every_update`, of one of its minibatches.

    Trajectory after trajectory; without tokens that the advantage's track leaves out. A method's `needs` name fields
    with defaults.
    """

    advantage: Floats  # [M], from the advantage slot
    tokens: Ints  # [B], trained tokens of each trajectory; sums to M
    logp: Floats | None = None  # [M], current weights, nats
    logp_old: Floats | None = None  # [M], weights before the first update on this batch
    entropy: Floats | None = None  # [M], current weights, of the whole distribution at the token, nats
    expected: Floats | None = None  # [M], current weights, sum over the vocabulary of p^2 (log p + entropy)
    logp_teacher: Floats | None = None  # [M], nats; -inf where the teacher cannot say the token
    known: Flags | None = None  # [M], whether the teacher scored the token; None: it scored all
    step: int = 0  # steps of the run before this one
    clip_low: float = 0.2  # how far below and above 1 the loss lets a token's ratio move
    clip_high: float = 0.2
    segment: Ints | None = None  # [M], number of the step or turn that holds the token; -1: none
    score: Floats | None = None  # score of each such number, in [0, 1]
    logp_sampler: Floats | None = None  # [M], what the loss's ratio compares with in bypass mode; None: logp_old
    group: Ints | None = None  # [B], number of each trajectory's group or pair
    kind: Sequence[str] = ()  # [B], kind of each trajectory's first call


@dataclass(frozen=True)
class CorrectionInputs:
    """Correction (S6): M tokens of whole trajectories, without gradient, as the trainer and the sampler score them."""

    logp_old: "Tensor"  # [M], trainer, weights before the first update on this batch, nats
    logp_sample: "Tensor"  # [M], sampler, nats
    trajectory: "Tensor"  # int64 [M], index of the token's trajectory, below `trajectories`
    trajectories: int
    mean: float = 1.0  # mean weight over the whole step, by which weights are divided

    def log_ratio(self) -> "Tensor":
        """log w_t = logp_old_t - logp_sample_t, [M], not clamped."""
        return self.logp_old - self.logp_sample

    def sums(self) -> "Tensor":
        """sum_t log w_t over the trajectory of each token, [M]."""
        log_ratio = self.log_ratio()
        total = log_ratio.new_zeros(self.trajectories).index_add(0, self.trajectory, log_ratio)
        return total[self.trajectory]

    def means(self) -> "Tensor":
        """Mean over t of log w_t in the trajectory of each token, [M]."""
        log_ratio = self.log_ratio()
        ones = log_ratio.new_ones(len(log_ratio))
        tokens = log_ratio.new_zeros(self.trajectories).index_add(0, self.trajectory, ones)
        return self.sums() / tokens[self.trajectory]


@dataclass(frozen=True)
class Support:
    """Two distributions over the vocabulary at each token, of which K ids are kept and all others merged into one."""

    teacher: "Tensor"  # [M, K], log-probabilities of the K ids that the teacher finds likeliest
    student: "Tensor"  # [M, K], of the same ids under the current weights, with gradient
    rest: "Tensor"  # [M], log of the current weights' mass on all other ids, with gradient; -inf where K is everything


@dataclass(frozen=True)
class LossInputs:
    """Loss (S7): M trained tokens of a micro-batch. Log-probabilities are nats, at the sampling temperature."""

    logp: "Tensor"  # current weights, with gradient
    logp_old: "Tensor"  # weights before the first update on this batch
    advantage: "Tensor"
    trajectory: "Tensor | None" = None  # int64 [M], index of the token's trajectory, below `trajectories`; tokens
    #                                     of a trajectory are consecutive
    trajectories: int = 1
    unmodulated: "Tensor | None" = None  # the advantage before modulation, where a modulation changed it
    logp_teacher: "Tensor | None" = None  # teacher, or the policy with privileged context
    known: "Tensor | None" = None  # bool [M], whether the teacher scored the token; None: it scored all
    support: "Support | None" = None  # both policies on the teacher's likeliest ids

    def of(self, own: "Tensor | slice") -> "LossInputs":
        """Return the inputs of the tokens at the indices `own`."""
        support = self.support
        return LossInputs(
            self.logp[own], self.logp_old[own], self.advantage[own], _of(self.trajectory, own), self.trajectories,
            _of(self.unmodulated, own), _of(self.logp_teacher, own), _of(self.known, own),
            None if support is None else Support(support.teacher[own], support.student[own], support.rest[own]))

    def ratio(self) -> "Tensor":
        """rho_t = exp(clamp(logp_t - logp_old_t, -20, 20))."""
        return (self.logp - self.logp_old).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()

    def log_ratio(self) -> "Tensor":
        """log rho_t = logp_t - logp_old_t, not clamped, without gradient."""
        return self.logp.detach() - self.logp_old

    def trajectory_means(self, values: "Tensor") -> "Tensor":
        """Return the mean of `values` [M] over each trajectory, [trajectories]; 0 for a trajectory without tokens here.

        Without `trajectory` all tokens belong to one.
        """
        if self.trajectory is None:
            return values.mean()[None]
        here, tokens = self.trajectory.unique_consecutive(return_counts=True)  # type: ignore[no-untyped-call]
        ends = values.double().cumsum_(0).index_select(0, tokens.cumsum(0) - 1)
        means = ends.diff(prepend=ends.new_zeros(1)) / tokens
        return values.new_zeros(self.trajectories).index_copy(0, here, means.to(values.dtype))

    def at_tokens(self, values: "Tensor") -> "Tensor":
        """Return for each token the value of its trajectory, [M], from `values` [trajectories]."""
        return values.expand(len(self.logp)) if self.trajectory is None else values.index_select(0, self.trajectory)

    def carried(self, loss: "Tensor", slope: "Tensor", stopped: "Tensor") -> "Tensor":
        """Return `loss` with the gradient `slope` by logp, or 0 where `stopped` is 1. All arguments are [M], detached.

        A loss that knows its slope uses this: autograd takes several times as long.
        """
        flowing = slope.addcmul(slope, stopped, value=-1)
        return loss + flowing * (self.logp - self.logp.detach())


def _of(values: "Tensor | None", own: "Tensor | slice") -> "Tensor | None":
    return None if values is None else values[own]


def bounded_ratio(log_ratio: "Tensor") -> "tuple[Tensor, Tensor]":
    """Return exp(clamp(x, -20, 20)), and a tensor that is 1 where the clamp stops the gradient, else 0; x is detached.

    The 1 is computed by `sign`: on a CPU, comparisons and `where` take ten times as long. Tensors are overwritten after
    their last use, so that fewer of them go through the cache.
    """
    held = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    stopped = (log_ratio - held).abs_().sign_()
    return held.exp_(), stopped


@dataclass(frozen=True)
class RegularizerInputs:
    """Regularizer (S9): M trained tokens of a micro-batch. A method's `needs` name fields with defaults."""

    logp: "Tensor"
    logp_ref: "Tensor | None" = None  # frozen reference
    entropy: "Tensor | None" = None  # of the whole distribution at the token, nats, with gradient
    logp_old: "Tensor | None" = None  # weights before the first update on this batch
    logp_teacher: "Tensor | None" = None  # teacher, or the policy with privileged context
    known: "Tensor | None" = None  # bool [M], whether the teacher scored the token; None: it scored all
    support: Support | None = None
    imitated: "Tensor | None" = None  # bool [M], tokens that the advantage leaves to imitation; None: it names none


@dataclass(frozen=True)
class Progress:
    """Schedule (S10): step `n` of `steps`, counted from 1."""

    n: int
    steps: int
