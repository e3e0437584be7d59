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

    def ratio(self) -> "Tensor":
        """rho_t = exp(clamp(logp_t - logp_old_t, -20, 20))."""
        return (self.logp - self.logp_old).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
