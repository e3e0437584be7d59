"""SIRI's chains under the plain prompt: does comparing turns that saw the same beat comparing episodes? GiGPO.

A wrong action stays where it is, so the episodes of a group meet again at the same positions. The specs have no
behavioural test of GiGPO: this one is ours, in the world of siri.md (b). No rate suits all estimators, so each runs at
three. Likes are compared: `dr_grpo` with `gigpo`, which subtract a mean, `grpo` with `gigpo, z`, which also divide by a
deviation. Figures are the exact success after 40 updates, the curve is that of the middle rate. Half of the types start
all but hopeless, so 0.5 is what the easy half alone gives.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Means, Outcome
from benchmarks.methods.skill_chains import GROUP, POSITIONS, TASKS, TYPES, Agent

UPDATES, RATES = 40, (10, 30, 90)
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "dr_grpo": ("dr_grpo", {}), "grpo": ("grpo", {}), "gigpo, omega=0": ("gigpo", {"omega": 0}),
    "gigpo": ("gigpo", {}), "gigpo, z": ("gigpo", {"norm": "mean_std_norm"})}


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train at each rate."""
    curves = {rate: _trained(variant, seed, rate) for rate in RATES}
    return Outcome({f"rate {rate}": curve[-1] for rate, curve in curves.items()}, curves[RATES[1]])


def _trained(variant: str, seed: int, rate: float) -> list[float]:
    agent, curve = Agent(np.random.default_rng(seed)), []
    group = np.repeat(np.arange(TASKS), GROUP)
    for _ in range(UPDATES):
        kind = agent.random.integers(TYPES, size=TASKS)[group]
        played = agent.play(kind, group, np.full((len(group), POSITIONS), -1))
        agent.descend(played.cell, played.action, played.advantage(*VARIANTS[variant]) / len(played.cell), rate)
        curve.append(agent.success())
    return curve


def _everywhere(means: Means, more: str, less: str) -> bool:
    return all(means[more][rate] > means[less][rate] for rate in means[more])


GIGPO = Experiment(
    "siri.md (b), phase 0 alone", "Do turns that met the same observation tell more than whole episodes do?", "success",
    tuple(VARIANTS), run,
    (Expectation("without deviations: gigpo > dr_grpo at each rate", lambda m: _everywhere(m, "gigpo", "dr_grpo")),
     Expectation("with deviations: gigpo, z > grpo at each rate", lambda m: _everywhere(m, "gigpo, z", "grpo")),
     Expectation("omega = 0 is dr_grpo, figure by figure", lambda m: m["gigpo, omega=0"] == m["dr_grpo"])),
    seeds=12)
