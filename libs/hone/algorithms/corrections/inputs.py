"""What importance corrections read: trained tokens of whole trajectories, float32, shape [M] each, without gradient."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from hone.algorithms.losses.inputs import MAX_LOG_RATIO
from hone.algorithms.method import Params

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CorrectionInputs:
    """Two views of the same tokens: the trainer's and the sampler's."""

    logp_old: "Tensor"
    logp_sample: "Tensor"
    trajectory: "Tensor"  # int64 [M], place of the token's trajectory, below `trajectories`
    trajectories: int
    mean: float = 1.0  # of the weights over the whole step, where they are to be divided by it

    def log_ratio(self) -> "Tensor":
        """log w_t = logp_old_t - logp_sample_t, [M], not clamped."""
        return self.logp_old - self.logp_sample

    def sums(self) -> "Tensor":
        """sum_t log w_t of each token's trajectory, [M]."""
        log_ratio = self.log_ratio()
        total = log_ratio.new_zeros(self.trajectories).index_add(0, self.trajectory, log_ratio)
        return total[self.trajectory]

    def means(self) -> "Tensor":
        """Mean over t of log w_t of each token's trajectory, [M]."""
        log_ratio = self.log_ratio()
        ones = log_ratio.new_ones(len(log_ratio))
        tokens = log_ratio.new_zeros(self.trajectories).index_add(0, self.trajectory, ones)
        return self.sums() / tokens[self.trajectory]


class Weights(Params):
    """What is done to all weights of a step alike."""

    normalize: bool = Field(False, description="Divide by the mean weight over the step's trained tokens, so that it "
                            "is 1; costs a forward over the step before the update.")

    def needs(self) -> frozenset[str]:
        """The trainer's log-probabilities of the whole step, to normalize."""
        return frozenset({"logp_old"}) if self.normalize else frozenset()


class Band(Weights):
    """Ratios that are trusted."""

    low: float = Field(0.5, ge=0, description="Smallest ratio kept.")
    high: float = Field(5.0, gt=0, description="Largest ratio kept.")

    @model_validator(mode="after")
    def _ordered(self) -> "Band":
        if self.low > self.high:
            raise ValueError(f"expected low of at most high ({self.high})")
        return self


def exp(log_ratio: "Tensor") -> "Tensor":
    """exp(clamp(log_ratio, -20, 20))."""
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
