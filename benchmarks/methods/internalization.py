"""SIRI, arXiv 2606.02355 (reconstruction): tests self-written skills, and selects the actions to internalize."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, members
from hone.algorithms.inputs import Flags, Floats, Ints, Track
from hone.algorithms.method import Params

_FEWEST_TASKS = 4
_MANY_TASKS = 32
_SUCCESS = 1.0


class SkillTestParams(Params):
    """The test of a skill."""

    delta: float = Field(0.05, gt=0, le=1, description="Smallest utility, in units of the reward.")
    c_se: float | None = Field(
        None, ge=0, description="Standard errors that are taken off U; null: 1 for at least 32 tasks, else 0.")
    most: int = Field(2, ge=1, description="B_k, most skills of a cluster.")


class InternalizationParams(Params):
    """The absorbed actions and their weights."""

    u_min: float = Field(0.0, ge=0, le=1, description="Only larger utilities count, in units of the reward.")
    action_weight: Literal["mask", "adv"] = Field(
        "mask", description="Weight of an absorbed action: 1 (mask), or its advantage (adv).")
    start: float = Field(0.5, ge=0, description="lambda_int during the first two thirds of the phase.")
    end: float = Field(0.1, ge=0, description="lambda_int at the end of the phase.")


@dataclass(frozen=True)
class Utility:
    """The utility of a skill, over n tasks run with it and without it."""

    mean: float  # U, in units of the reward
    se: float  # standard error of U; 0 where all differences are equal
    n: int


def utility(with_skill: Floats, without: Floats) -> Utility:
    """U = mean of d, se = std(d, ddof 1) / sqrt(n), d_j = R_j with the skill - R_j without it, [n] each.

    Raises ValueError without a task.
    """
    if not len(with_skill):
        raise ValueError("with_skill: found no task, expected at least one")
    d = with_skill - without
    se = float(d.std(ddof=1)) / math.sqrt(len(d)) if np.ptp(d) > 0 else 0.0
    return Utility(float(d.mean()), se, len(d))


def accepted(found: Utility, params: SkillTestParams) -> bool:
    """Return whether U >= delta and U - c_se se > 0, over at least 4 tasks."""
    usual = 1.0 if found.n >= _MANY_TASKS else 0.0
    errors = usual if params.c_se is None else params.c_se
    return found.n >= _FEWEST_TASKS and found.mean >= params.delta and found.mean - errors * found.se > 0


def best(skills: Mapping[int, Utility], params: SkillTestParams) -> list[int]:
    """Return the ids of the skills that a cluster keeps: larger U first, then smaller se, then smaller (older) id."""
    passed = [skill for skill, found in skills.items() if accepted(found, params)]
    return sorted(passed, key=lambda skill: (-skills[skill].mean, skills[skill].se, skill))[:params.most]


def omega(reward: Floats, task: Ints, guided: Flags, params: InternalizationParams) -> Floats:
    """Return the weight of each trajectory, [B]: min(1, u) in E+, else 0.

    u = R - mean R of the task's plain trajectories; E+: guided trajectories with R = 1 and u > u_min. Outcomes are
    in [0, 1]. A task without a plain trajectory has no u.
    """
    weight = np.zeros_like(reward)
    for rows in members(task):
        plain, skilled = rows[~guided[rows]], rows[guided[rows]]
        if len(plain):
            u = reward[skilled] - reward[plain].mean()
            weight[skilled] = np.where((reward[skilled] >= _SUCCESS) & (u > params.u_min), np.minimum(1.0, u), 0.0)
    return weight


def internalization(
    weight: Floats, advantage: Floats, tokens: Ints, coefficient: float, params: InternalizationParams
) -> Track:
    """Return L_int = -sum omega mu logp / max(1, tokens with mu > 0) as a track, logp under the plain context.

    `weight` [B] is omega, `advantage` [M] the joint group's, of each token's action; mu = 1[A > 0] (adv: times A). The
    denominator counts tokens of E+ only.
    """
    absorbed: Flags = np.repeat(weight > 0, tokens) & (advantage > 0)
    mu = np.where(absorbed, advantage if params.action_weight == "adv" else 1.0, 0.0)
    return Track("internalization", broadcast(weight, tokens) * mu, absorbed, coefficient, loss="reinforce")


def coefficient(finished: int, planned: int, params: InternalizationParams) -> float:
    """Return lambda_int = start - (start - end) max(0, 3 f - 2), f = finished / planned updates of the phase."""
    return params.start - (params.start - params.end) * max(0.0, 3 * finished / planned - 2)


def guided_episodes(share: float, size: int) -> int:
    """Return the number of a group's episodes that get a skill: share * size, halves rounded up."""
    return math.floor(share * size + 0.5)
