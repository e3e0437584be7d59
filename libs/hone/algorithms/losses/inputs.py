"""What policy losses read: trained tokens of a micro-batch, float32, shape [M] each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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

    def ratio(self) -> "Tensor":
        """rho_t = exp(clamp(logp_t - logp_old_t, -20, 20))."""
        return (self.logp - self.logp_old).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()

    def log_ratio(self) -> "Tensor":
        """log rho_t = logp_t - logp_old_t, not clamped, without gradient."""
        return self.logp.detach() - self.logp_old

    def trajectory_means(self, values: "Tensor") -> "tuple[Tensor, Tensor]":
        """Return the mean of `values` [M] over each of the R trajectories here, and each token's place in it, [M].

        Without trajectories all tokens are one's.
        """
        trajectory = values.new_zeros(len(values)) if self.trajectory is None else self.trajectory
        _, place, tokens = trajectory.unique_consecutive(  # type: ignore[no-untyped-call]
            return_inverse=True, return_counts=True)
        ends = values.double().cumsum(0).index_select(0, tokens.cumsum(0) - 1)
        return (ends.diff(prepend=ends.new_zeros(1)) / tokens).to(values.dtype), place

    def carried(self, loss: "Tensor", slope: "Tensor", stopped: "Tensor") -> "Tensor":
        """Return `loss` whose gradient by logp is `slope`, or 0 where `stopped` is 1; all [M], without gradient.

        For losses whose slope is at hand: autograd takes several times as long to find it.
        """
        flowing = slope.addcmul(slope, stopped, value=-1)
        return loss + flowing * (self.logp - self.logp.detach())


def bounded_ratio(log_ratio: "Tensor") -> "tuple[Tensor, Tensor]":
    """Return exp(clamp(x, -20, 20)), and 1 where the clamp stops the gradient, else 0; x has none.

    The 1 is made of a sign, as in other losses: on a processor comparing and choosing take ten times as long. And what
    is read no more is written over, so that fewer tensors go through its cache.
    """
    held = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    stopped = (log_ratio - held).abs_().sign_()
    return held.exp_(), stopped
