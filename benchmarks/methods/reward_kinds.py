"""2000 groups of 16 rewards of one kind: how large does a score get, and do kinds of reward weigh alike? RDPO, stage 1.

Figures are the root mean square of all scores in groups that vary, and the largest one. The curve is that of rare
successes, 0.06: the quantiles of the scores' sizes.
"""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Figures, Means, Outcome
from hone.algorithms.advantages.rdpo import RdpoParams, quantile_scores
from hone.algorithms.advantages.statistics import varies, z_score
from hone.algorithms.inputs import Floats

GROUPS, SIZE, SHOWN = 2000, 16, 100
KINDS: Mapping[str, Callable[[np.random.Generator], Floats]] = {
    "even": lambda random: random.binomial(1, 0.5, (GROUPS, SIZE)).astype(np.float64),
    "rare": lambda random: random.binomial(1, 0.06, (GROUPS, SIZE)).astype(np.float64),
    "fractions": lambda random: random.integers(6, size=(GROUPS, SIZE)) / 5,
    "gaussian": lambda random: random.standard_normal((GROUPS, SIZE)),
    "heavy": lambda random: random.standard_t(2, (GROUPS, SIZE)),
}
PARAMS, WHOLE = RdpoParams(), 1e-8  # a reference range that every group exceeds: m = 1
SCORES: Mapping[str, Callable[[Floats], Floats]] = {
    "z-score": lambda group: z_score(group, 0, 0.0),
    "stage 1": lambda group: quantile_scores(group, WHOLE, PARAMS),
}


@cache
def run(variant: str, seed: int) -> Outcome:
    """Score groups of each kind."""
    random = np.random.default_rng(seed)
    scores = {kind: _sizes(SCORES[variant], drawn(random)) for kind, drawn in KINDS.items()}
    figures = {f"{kind} rms": float(np.sqrt((sizes**2).mean())) for kind, sizes in scores.items()}
    largest = max(float(sizes.max()) for sizes in scores.values())
    return Outcome({**figures, "largest": largest}, np.quantile(scores["rare"], np.linspace(0, 1, SHOWN)).tolist())


def _sizes(score: Callable[[Floats], Floats], groups: Floats) -> Floats:
    sizes: Floats = np.abs(np.concatenate([score(group) for group in groups if varies(group)]))
    return sizes


SPEC: Figures = {"even": 0.48, "rare": 0.29, "fractions": 0.45, "gaussian": 0.42, "heavy": 0.39}


def _near(means: Means) -> bool:
    return all(abs(means["stage 1"][f"{kind} rms"] - expected) < 0.02 for kind, expected in SPEC.items())


RDPO_BOUNDS = Experiment(
    "rdpo.md (b), bounds", "Does a single success weigh in proportion, not by how rare it is?", "size of a score",
    tuple(SCORES), run,
    (Expectation("z-scores: RMS 1 for every kind of reward",
                 lambda m: all(abs(m["z-score"][f"{kind} rms"] - 1) < 1e-6 for kind in KINDS)),
     Expectation("z-scores reach 3.87", lambda m: abs(m["z-score"]["largest"] - 15**0.5) < 0.005),
     Expectation("stage 1: no score above 1", lambda m: m["stage 1"]["largest"] <= 1),
     Expectation("stage 1: RMS within 0.02 of .48 even, .29 rare, .45 fractions, .42 gaussian, .39 heavy", _near)))
