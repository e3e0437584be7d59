"""What policy losses read: trained tokens of a micro-batch, float32, shape [M] each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hone.algorithms.regularizers.inputs import Support

if TYPE_CHECKING:
    from torch import Tensor

MAX_LOG_RATIO = 20.0
"""Log-ratios are clamped to +- this; no gradient flows where the clamp is active."""


@dataclass(frozen=True)
class LossInputs:
    """Log-probabilities in nats of the sampled tokens under the sampling temperature."""

    logp: "Tensor"  # current weights, with gradient
    logp_old: "Tensor"  # weights before the first update on this batch
    advantage: "Tensor"
    trajectory: "Tensor | None" = None  # int64 [M], place of the token's trajectory, below `trajectories`; those of a
    #                                     trajectory stand together
    trajectories: int = 1
    unmodulated: "Tensor | None" = None  # the advantage before S5, where that changed it
    logp_teacher: "Tensor | None" = None  # teacher, or the policy with privileged context
    known: "Tensor | None" = None  # bool [M], where there is a teacher's word; None: everywhere
    support: "Support | None" = None  # both policies on the teacher's likeliest ids

    def of(self, own: "Tensor | slice") -> "LossInputs":
        """Return the same of the tokens at the places `own`."""
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
        """Return the mean of `values` [M] over each trajectory, [trajectories]; 0 for one that is not here.

        Without trajectories all tokens are one's.
        """
        if self.trajectory is None:
            return values.mean()[None]
        here, tokens = self.trajectory.unique_consecutive(return_counts=True)  # type: ignore[no-untyped-call]
        ends = values.double().cumsum_(0).index_select(0, tokens.cumsum(0) - 1)
        means = ends.diff(prepend=ends.new_zeros(1)) / tokens
        return values.new_zeros(self.trajectories).index_copy(0, here, means.to(values.dtype))

    def at_tokens(self, values: "Tensor") -> "Tensor":
        """Return each token's of its trajectory's `values` [trajectories], [M]."""
        return values.expand(len(self.logp)) if self.trajectory is None else values.index_select(0, self.trajectory)

    def carried(self, loss: "Tensor", slope: "Tensor", stopped: "Tensor") -> "Tensor":
        """Return `loss` whose gradient by logp is `slope`, or 0 where `stopped` is 1; all [M], without gradient.

        For losses whose slope is at hand: autograd takes several times as long to find it.
        """
        flowing = slope.addcmul(slope, stopped, value=-1)
        return loss + flowing * (self.logp - self.logp.detach())


def _of(values: "Tensor | None", own: "Tensor | slice") -> "Tensor | None":
    return None if values is None else values[own]


def bounded_ratio(log_ratio: "Tensor") -> "tuple[Tensor, Tensor]":
    """Return exp(clamp(x, -20, 20)), and 1 where the clamp stops the gradient, else 0; x has none.

    The 1 is made of a sign, as in other losses: on a processor comparing and choosing take ten times as long. And what
    is read no more is written over, so that fewer tensors go through its cache.
    """
    held = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    stopped = (log_ratio - held).abs_().sign_()
    return held.exp_(), stopped
