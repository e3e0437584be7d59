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
    trajectory: "Tensor | None" = None  # int64 [M], place of the token's trajectory, below `trajectories`
    trajectories: int = 1
    unmodulated: "Tensor | None" = None  # the advantage before S5, where that changed it

    def ratio(self) -> "Tensor":
        """rho_t = exp(clamp(logp_t - logp_old_t, -20, 20))."""
        return (self.logp - self.logp_old).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()

    def trajectory_means(self, values: "Tensor") -> "Tensor":
        """Return the mean of `values` [M] over each token's trajectory, [M]; without trajectories all are one."""
        if self.trajectory is None:
            return values.mean().expand(len(values))
        sums = values.new_zeros(self.trajectories).index_add(0, self.trajectory, values)
        tokens = values.new_zeros(self.trajectories).index_add(0, self.trajectory, values.new_ones(len(values)))
        return (sums / tokens.clamp(min=1))[self.trajectory]
