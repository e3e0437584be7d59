"""The soft overlong penalty of DAPO, arXiv 2503.14476."""

from pydantic import Field, model_validator

from hone.algorithms.inputs import RewardInputs, Rewards
from hone.algorithms.method import Method, Metrics, Params, State


class Overlong(Params):
    """The lengths at which the penalty begins and ends, and its weight."""

    max_length: int = Field(20480, ge=1, description="Lmax, tokens beyond which the whole penalty applies.")
    buffer: int = Field(4096, ge=1, description="Lc, tokens before max_length over which the penalty grows.")
    weight: float = Field(1.0, ge=0, description="Factor of the penalty.")

    @model_validator(mode="after")
    def _fits(self) -> "Overlong":
        if self.buffer > self.max_length:
            raise ValueError(f"expected buffer of at most max_length ({self.max_length})")
        return self


def overlong(inputs: RewardInputs, params: Overlong, state: State) -> tuple[Rewards, State, Metrics]:
    """R + weight * penalty(l): 0 up to Lmax - Lc, then ((Lmax - Lc) - l) / Lc, and -1 beyond Lmax or if cut off."""
    rewards, rejected = inputs.finite()
    penalties = [_penalty(*sample, params) for sample in zip(inputs.lengths, inputs.truncated, strict=True)]
    shaped = [None if reward is None else reward + params.weight * penalty
              for reward, penalty in zip(rewards, penalties, strict=True)]
    penalised = sum(penalty < 0 for penalty in penalties)
    return shaped, state, {"rejected_rewards": float(rejected), "overlong_samples": float(penalised)}


def _penalty(length: int, truncated: bool, params: Overlong) -> float:
    if truncated or length > params.max_length:
        return -1.0
    return min(0.0, (params.max_length - params.buffer - length) / params.buffer)


METHOD: Method[RewardInputs, Rewards] = Method(overlong, Overlong)
