"""A policy proposes one of 13 discounts to each of 16 merchants of `hone.environments.merchant_strategies`: softmax
bandits that take exact policy gradients of a predicted reward. A discount of 100 % costs 1.2 orders, the environment's
default, at which few discounts are worth it and exaggerations do harm; at a cost of 1 large discounts are worth it in
truth, beyond what the fitted model has seen. `true` is the worth in the world behind, whose habits no predictor knows;
the seed draws the merchants. The gap is |R - F| of the proposals, where R is the reasoner that is paid for; the alarm's
limit is 0.15. The reasoner is a formula, not a model.
"""

from functools import cache

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.audiences import world
from hone.audiences.alarm import LIMIT
from hone.audiences.columns import Floats
from hone.audiences.shipped import SEED, synthetic_orders
from hone.audiences.simulator import Audience
from hone.environments.hashing import splitmix
from hone.environments.merchant_strategies import Merchant, MerchantStrategiesParams, merchant, prediction

MERCHANTS, UPDATES, RATE = 16, 200, 20.0
DISCOUNTS = list(range(0, 61, 5))
COST = MerchantStrategiesParams().cost
_LOW = ", cost 1"


@cache
def _predictions(seed: int) -> dict[str, Floats]:
    """Return the true and the predicted orders of each merchant and discount, [M, D] each, by what predicts."""
    wanting = [merchant(splitmix(seed) + place) for place in range(MERCHANTS)]
    found = [[prediction(one, discount) for discount in DISCOUNTS] for one in wanting]
    return {"true": np.array([[_true(one, discount) for discount in DISCOUNTS] for one in wanting]), **{
        name: np.array([[getattr(one, name) for one in row] for row in found])
        for name in ("fused", "reasoned", "fitted", "unanchored")}}


def _true(wanting: Merchant, discount: int) -> float:
    simulator, _ = synthetic_orders()
    rows = simulator.rows(Audience(vars(wanting)), {"discount": discount / 100}, simulator.users)
    return float(world.probability(rows, world.Habits.of(SEED)).mean())


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train on a predicted reward; the figures are those of the trained policy."""
    rates, reward = _predictions(seed), variant.removesuffix(_LOW)
    cost = (1.0 if variant.endswith(_LOW) else COST) * np.array(DISCOUNTS) / 100
    logits, curve = np.zeros((MERCHANTS, len(DISCOUNTS))), []
    paid, true = rates[reward] - cost, rates["true"] - cost
    gap = np.abs(rates["unanchored" if reward == "unanchored" else "reasoned"] - rates["fitted"])
    for _ in range(UPDATES):
        chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        curve.append(float((chances * true).sum(1).mean()))
        logits += RATE * chances * (paid - (chances * paid).sum(1, keepdims=True))
    means = {name: float((chances * values).sum(1).mean()) for name, values in (
        ("predicted", paid), ("true", true), ("gap", gap), ("discount %", np.tile(DISCOUNTS, (MERCHANTS, 1))))}
    return Outcome({**means, "alarm": float(means["gap"] > LIMIT)}, curve)


_REWARDS = ("unanchored", "reasoned", "fitted", "fused", "true")

STRATEGIES = Experiment(
    "pghs.md (in this platform)", "Does a policy that is paid for the reasoner's word exploit its exaggerations?",
    "true worth", (*_REWARDS, *(f"{reward}{_LOW}" for reward in _REWARDS)), run,
    (Expectation("the fused reward is worth more in truth than the reasoner's own",
                 lambda m: m["fused"]["true"] > m["unanchored"]["true"]),
     Expectation("the reasoner promises more than comes of it",
                 lambda m: m["unanchored"]["predicted"] > m["unanchored"]["true"]),
     Expectation("the fused reward promises at most a tenth more than comes of it",
                 lambda m: m["fused"]["predicted"] <= 1.1 * m["fused"]["true"]),
     Expectation("the alarm rings for the reasoner's own word, and not for the fused reward",
                 lambda m: m["unanchored"]["alarm"] == 1 and m["fused"]["alarm"] == 0),
     Expectation("at a cost of 1, too, the fused reward is worth more in truth than the anchored reasoner's word",
                 lambda m: m[f"fused{_LOW}"]["true"] > m[f"reasoned{_LOW}"]["true"])),
    across="update")
