"""V0.5's baseline, arXiv 2603.10848: a predicted reward and the mean of a few rewards, weighted by their errors.

The estimated error of the prediction has a test built in: where the mean is near enough, the prediction is the baseline
alone. Noise other than 1 / k and `loo` are our options.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, members, varies
from hone.algorithms.allocation.v0_5 import bias
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State

Noise = Literal["bound", "variance", "smoothed"]


class V05BaselineParams(Params):
    """Options of the fusion."""

    loo: bool = Field(False, description="Mean, test and weight for a sample are of the group's other samples.")
    noise: Noise = Field(
        "bound", description="Square of the mean's error, for rewards from -1 to 1: 1 / k; or (variance) max(unbiased "
        "variance / k, 1 / (4 k^2)); or (smoothed) (1 - b^2) / k with b = sum of rewards / (k + 2).")
    scale: Literal["none", "batch_std"] = Field(
        "none", description="batch_std: advantages are divided by their standard deviation over the step.")

    def needs(self) -> frozenset[str]:
        """The predicted chance of each prompt."""
        return frozenset({"predicted"})


@dataclass(frozen=True)
class Fused:
    """The baseline of k rewards; with `loo` each field has one entry for each reward, else one for all."""

    b: Floats  # in the units of the rewards
    w: Floats  # weight of the mean
    d2_hat: Floats  # estimated square of the predicted's error, for rewards from -1 to 1
    accepted: np.ndarray[tuple[int], np.dtype[np.bool_]]  # whether the baseline is the prediction alone


def fuse(
    rewards: Floats, predicted: float, scale: tuple[float, float] = (-1.0, 1.0), loo: bool = False,
    noise: Noise = "bound",
) -> Fused:
    """Return b = w m + (1 - w) V, w = D2 / (D2 + s), D2 = max(0, (m - V)^2 - s), s = 1 / k for rewards from -1 to 1.

    Rewards [k] and prediction V are on `scale`, from its first to its second number. Without other rewards, b = V.
    """
    low, high = scale
    unit, value = 2 * (rewards - low) / (high - low) - 1, min(max(2 * (predicted - low) / (high - low) - 1, -1.0), 1.0)
    samples = [np.delete(unit, place) for place in range(len(unit))] if loo else [unit]
    found = np.array([_fused(own, value, noise) for own in samples], np.float64).reshape(-1, 3)
    return Fused(low + (high - low) * (found[:, 0] + 1) / 2, found[:, 1], found[:, 2], found[:, 2] == 0)


def _fused(unit: Floats, value: float, noise: Noise) -> tuple[float, float, float]:
    """Return b, w and D2 for rewards and prediction from -1 to 1."""
    if not len(unit):
        return value, 0.0, 0.0
    mean, error = float(unit.mean()), _error(unit, noise)
    d2 = bias(mean, value, error)
    w = d2 / (d2 + error) if d2 else 0.0
    return w * mean + (1 - w) * value, w, d2


def _error(unit: Floats, noise: Noise) -> float:
    k = len(unit)
    if noise == "variance":
        return max(float(unit.var(ddof=1)) / k if k > 1 else 1.0, 1 / (4 * k * k))
    return (1 - (float(unit.sum()) / (k + 2)) ** 2) / k if noise == "smoothed" else 1 / k


def v0_5(inputs: AdvantageInputs, params: V05BaselineParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_i = R_i - b, b = w mean + (1 - w) V, w = max(0, 1 - 1 / (k (mean - V)^2)) for rewards from -1 to 1.

    V is the predicted reward, k the number of the group's samples. Other ranges of rewards are mapped to -1 ... 1. A
    group without prediction has b = mean. A group whose rewards are all equal has an advantage where b differs.
    """
    advantage, groups = np.zeros_like(inputs.reward), members(inputs.group)
    found: list[tuple[float, float, float, float]] = []
    for rows in groups:
        reward, chance = inputs.reward[rows], inputs.chance(rows)
        if chance is None:
            advantage[rows] = reward - reward.mean() if varies(reward) else 0.0
            continue
        low, high = inputs.bounds
        value = low + (high - low) * chance
        fused = fuse(reward, value, inputs.bounds, params.loo, params.noise)
        advantage[rows] = reward - fused.b
        flat = not varies(reward) and bool(np.abs(advantage[rows]).max() > 0)
        found.append((float(fused.accepted.mean()), float(fused.w.mean()), abs(float(reward.mean()) - value), flat))
    deviation = float(advantage.std()) if params.scale == "batch_std" else 0.0
    scaled = advantage / deviation if deviation > 0 else advantage
    return broadcast(scaled, inputs.tokens), state, _metrics(found, len(groups), len(inputs.reward))


def _metrics(found: list[tuple[float, float, float, float]], groups: int, samples: int) -> Metrics:
    many = max(1, groups)
    metrics = {"groups": float(groups), "predicted_share": len(found) / many, "k_mean": samples / many}
    if found:
        names = ("accepted", "mean_weight", "prediction_distance", "flat_with_signal")
        metrics |= dict(zip(names, np.array(found, np.float64).mean(axis=0).tolist(), strict=True))
    return metrics


METHOD: Method[AdvantageInputs, Estimate] = Method(v0_5, V05BaselineParams, excludes={
    ("reward", "overlong"): "whose prediction is of the reward as it was graded"})
