"""Rewards (S3): shape the task rewards. Samples whose raw reward is not finite are masked and counted."""

from hone.algorithms.inputs import RewardInputs, Rewards
from hone.algorithms.method import Method, Metrics, Params, State


def none(inputs: RewardInputs, params: Params, state: State) -> tuple[Rewards, State, Metrics]:
    """The task reward, unchanged."""
    rewards, rejected = inputs.finite()
    return rewards, state, {"rejected_rewards": float(rejected)}


METHOD: Method[RewardInputs, Rewards] = Method(none)
