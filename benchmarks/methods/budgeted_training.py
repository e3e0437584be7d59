"""64 prompts of mixed difficulty, a softmax of 20 actions each: do unequal shares find more groups that teach? DynaMO.

The spec's check is a tiny transformer on arithmetic; here each prompt learns alone, so nothing carries over from one to
another. The policy starts at success rates from Beta(0.4, 0.4); a step gives 16 rollouts a prompt on average, and its
gradient is the mean over all of them. Counts of successes fade by 0.9 a step. `taught` is the mean share of rollouts in
groups with unequal rewards, `groups` that of groups; the curve is exact success.

The share of groups falls: a hard or easy prompt with 8 rollouts shows both outcomes less often than with 16, one of
even chances shows them either way. What rises is the share of rollouts. The spec gives no rate: 5 is of the mean over
the step; at 20 successes are alike, and at 60 those of unequal shares are lower by 0.02.
"""

from functools import cache

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.allocation.dynamo import SuccessHistory, SuccessVarianceParams, dynamo
from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs, Floats, Ints

PROMPTS, MEAN, ACTIONS, STEPS, RATE, FADES = 64, 16, 20, 60, 5.0, 0.9
POWERS = {"power 0.5": 0.5, "power 1": 1.0}


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train with GRPO on ragged groups."""
    random = np.random.default_rng(seed)
    rates = random.beta(0.4, 0.4, PROMPTS).clip(0.005, 0.995)
    logits = np.zeros((PROMPTS, ACTIONS))
    logits[:, 0] = np.log(rates * (ACTIONS - 1) / (1 - rates))
    seen, taught, curve = np.zeros((2, PROMPTS)), [], []
    for _ in range(STEPS):
        prompt = np.repeat(np.arange(PROMPTS), _shares(variant, seen))
        chances = _softmax(logits)[prompt]
        action = (np.log(chances) + random.gumbel(size=chances.shape)).argmax(axis=1)
        right = (action == 0).astype(np.float64)
        pull = _advantage(right, prompt)[:, None] * (np.eye(ACTIONS)[action] - chances)
        np.add.at(logits, prompt, RATE * pull / len(prompt))
        counts = np.array([np.bincount(prompt, right), np.bincount(prompt)])
        seen = FADES * seen + counts
        mixed = (counts[0] > 0) & (counts[0] < counts[1])
        taught.append((float(mixed.mean()), float(counts[1][mixed].sum() / len(prompt))))
        curve.append(float(_softmax(logits)[:, 0].mean()))
    groups, rollouts = np.mean(taught, axis=0)
    return Outcome({"groups": float(groups), "taught": float(rollouts), "success": curve[-1]}, curve)


def _shares(variant: str, seen: Floats) -> Ints:
    if variant == "uniform":
        return np.full(PROMPTS, MEAN)
    params = SuccessVarianceParams(power=POWERS[variant])
    return np.array(dynamo(SuccessHistory(seen[0], seen[1], PROMPTS * MEAN), params, {})[0])


def _advantage(right: Floats, prompt: Ints) -> Floats:
    inputs = AdvantageInputs(right, prompt, np.ones(len(right), np.int64), np.full(len(right), np.nan))
    values, _, _ = ADVANTAGES["grpo"](inputs, {}, {})
    return np.asarray(values)


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances: Floats = weights / weights.sum(axis=1, keepdims=True)
    return chances


DYNAMO_TRAINING = Experiment(
    "dynamo.md (b), training check", "Do unequal shares find more groups that teach something?", "success",
    ("uniform", *POWERS), run,
    (Expectation("power 0.5: more groups with unequal rewards than uniform",
                 lambda m: m["power 0.5"]["groups"] > m["uniform"]["groups"]),
     Expectation("power 0.5: more rollouts in such groups than uniform",
                 lambda m: m["power 0.5"]["taught"] > m["uniform"]["taught"]),
     Expectation("power 0.5: success >= uniform's", lambda m: m["power 0.5"]["success"] >= m["uniform"]["success"])),
    seeds=8)
