"""A synthetic world of merchants and users with confounders, for tests, the benchmark and an environment.

It follows the description in the method's verification (arXiv 2604.15190 publishes no data): the log-odds of an order
are an interpretable part (discount, price sensitivity, rating, loyalty) and a habit part (a wave over the hour for each
category, weekend bumps, a category's offset) that the reasoner does not know. The description gives no constants: ours
were chosen so that the branches err about as much as it says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hone.audiences.anchoring import sigmoid
from hone.audiences.behaviour import Behaviour
from hone.audiences.columns import Features, Floats, of_rows
from hone.audiences.reasoning import Formula, FormulaReasoner

CATEGORIES = ("breakfast", "hotpot", "noodles", "tea")
TIERS = ("high", "low")
DRIVERS = ("strategy.discount", "user.price_sensitivity", "merchant.rating", "user.loyalty")
USERS = 150
STEPS = ("order",)
_SLOPES = np.array([6.5, 2.5, 1.2, 2.5])
_CENTRES = np.array([0.15, 0.5, 4.2, 0.4])
_INTERCEPT = -1.05
_STEEPER = np.array([1.8, 2.0, 1.8, 1.9])
"""How much steeper the reasoner takes each driver to be."""


@dataclass(frozen=True)
class Habits:
    """Hidden parts of a seed's world: by category, the size and place of the wave, the weekend's and its offset."""

    height: Floats
    peak: Floats
    weekend: Floats
    offset: Floats

    @classmethod
    def of(cls, seed: int) -> "Habits":
        """Return the habits of a seed."""
        drawn = np.random.default_rng([seed, 1])
        size = len(CATEGORIES)
        return cls(drawn.uniform(0.4, 0.8, size), drawn.uniform(0, 24, size), drawn.uniform(-0.4, 0.4, size),
                   drawn.uniform(-0.5, 0.5, size))

    def log_odds(self, rows: Sequence[Features]) -> Floats:
        """Return the habit part of rows, [N]."""
        place = np.array([CATEGORIES.index(str(row["merchant"]["category"])) for row in rows])
        hour, weekend = (np.array([row["user"][name] for row in rows], np.float64) for name in ("hour", "weekend"))
        wave = self.height[place] * np.sin(2 * np.pi * (hour - self.peak[place]) / 24)
        return np.asarray(wave + self.weekend[place] * weekend + self.offset[place])


def drivers(rows: Sequence[Features]) -> Floats:
    """Return the four observable drivers of rows, [N, 4]."""
    return np.array([[float(row[part][name]) for part, _, name in (field.partition(".") for field in DRIVERS)]
                     for row in rows])


def probability(rows: Sequence[Features], habits: Habits) -> Floats:
    """Return the true probability of an order of each row, [N]."""
    return sigmoid(_INTERCEPT + (drivers(rows) - _CENTRES) @ _SLOPES + habits.log_odds(rows))


def reasoned(rows: Sequence[Features]) -> Floats:
    """Return the stub reasoner's rates of each row, [N]: the right directions, too steep, without habits."""
    return sigmoid(_INTERCEPT + (drivers(rows) - _CENTRES) @ (_SLOPES * _STEEPER))


def formula() -> FormulaReasoner:
    """Return the stub of a reasoner as one that answers questions."""
    steep = _SLOPES * _STEEPER
    return FormulaReasoner({STEPS[0]: Formula(
        intercept=_INTERCEPT - float(_CENTRES @ steep), weights=dict(zip(DRIVERS, steep.tolist(), strict=True)))})


def behaviour(seed: int, part: str, merchants: int, discounts: tuple[float, float], habits: Habits) -> Behaviour:
    """Return the orders of USERS users at each of some merchants.

    A training merchant varies its discount between exposures, within the range; those of other parts have one each.
    """
    drawn = np.random.default_rng([seed, 2, *part.encode()])
    rows = list[Features]()
    for _ in range(merchants):
        own = _merchant(drawn)
        fixed = drawn.uniform(*discounts)
        rows += [{"user": _user(drawn), "merchant": own, "strategy": {
            "discount": float(drawn.uniform(*discounts) if part == "train" else fixed)}} for _ in range(USERS)]
    chance = probability(rows, habits)
    columns = of_rows(rows)
    ids = [f"{part}-{number // USERS}" for number in range(len(rows))]
    ordered = (drawn.random(len(rows)) < chance).astype(np.float64)
    return Behaviour(columns, rows, columns.encode(rows), ordered[:, None], STEPS, np.array(ids),
                     np.array([float(number % 4) for number in range(len(rows))]),
                     [f"{one}/{number % USERS}" for number, one in enumerate(ids)])


def _merchant(drawn: np.random.Generator) -> dict[str, float | str]:
    return {"category": str(drawn.choice(CATEGORIES)), "tier": str(drawn.choice(TIERS)),
            "rating": float(np.clip(drawn.normal(4.2, 0.4), 3.0, 5.0)), "distance": float(drawn.uniform(0.2, 5.0))}


def _user(drawn: np.random.Generator) -> dict[str, float | str]:
    return {"price_sensitivity": float(drawn.random()), "loyalty": float(drawn.beta(2, 3)),
            "hour": float(drawn.integers(0, 24)), "weekend": float(drawn.random() < 2 / 7)}
