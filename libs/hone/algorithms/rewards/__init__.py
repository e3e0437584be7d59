"""Rewards (S3): shape the task rewards. Samples whose raw reward is not finite are masked and counted."""

from collections.abc import Mapping

from hone.algorithms.inputs import RewardInputs, Rewards
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.rewards.overlong import Overlong, overlong


def none(inputs: RewardInputs, params: Params, state: State) -> tuple[Rewards, State, Metrics]:
    """The task reward, unchanged."""
    rewards, rejected = inputs.finite()
    return rewards, state, {"rejected_rewards": float(rejected)}


REWARDS: Mapping[str, Method[RewardInputs, Rewards]] = {"none": Method(none), "overlong": Method(overlong, Overlong)}
