"""Merchants that want more orders: the policy proposes a discount, a simulator of users says what comes of it.

After PGHS, arXiv 2604.15190, whose prediction of a group may reward a policy that proposes strategies. A
reconstruction: merchants and users are of Hone's synthetic world, and the simulator is the fitted one that comes with
Hone, so every process gives the same reaction.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import Field

from hone.audiences import world
from hone.audiences.shipped import synthetic_orders
from hone.audiences.simulator import Audience, personas
from hone.environments.contract import EnvironmentParams, EpisodeOver, Message, Observation, Row, Transition
from hone.environments.hashing import digest, splitmix
from hone.environments.single_turn import Asks
from hone.spec.snapshots import fields_of

_ACTION = re.compile(r"\s*(?:discount\s+)?(\d{1,3})\s*%?\s*", re.IGNORECASE)
_PERSONAS = 64
NAME = "merchant_strategies"
GAP = "reasoner_gap"
"""The component of the score's grade that holds |R - F|, for the alarm of `hone.audiences.alarm`."""


class MerchantStrategiesParams(EnvironmentParams):
    """Cost of a discount, its largest size, and the prediction that is the reward."""

    most: int = Field(60, ge=5, le=90, description="Highest discount, in percent.")
    cost: float = Field(1.2, ge=0, le=10, description="Orders for each exposure that a discount of 100 % costs.")
    reward: Literal["fused", "reasoned", "fitted", "unanchored"] = Field(
        "fused", description="Prediction that scores: fused, or a single part; unanchored: the word of the reasoner "
        "says, without its anchor. A policy that is paid for what the reasoner says finds its exaggerations.")


@dataclass(frozen=True)
class Merchant:
    """Known facts of a merchant, in words that the world has."""

    category: str
    tier: str
    rating: float
    distance: float

    @property
    def text(self) -> str:
        """The merchant, described."""
        return (f"A {self.category} restaurant, rated {self.rating:.1f} of 5, {self.distance:.1f} km away, with "
                f"{self.tier} traffic.")


def merchant(seed: int) -> Merchant:
    """Return the merchant of a seed."""
    drawn = [splitmix(splitmix(seed) + place) for place in range(4)]
    return Merchant(world.CATEGORIES[drawn[0] % len(world.CATEGORIES)], world.TIERS[drawn[1] % len(world.TIERS)],
                    3.0 + drawn[2] % 21 / 10, 0.2 + drawn[3] % 49 / 10)


class MerchantStrategies(Asks):
    """The policy reads a description and answers `discount 20`. The score grows with predicted orders less the cost."""

    summary = "Propose a discount to a merchant; a simulator of its users predicts the orders."
    params = MerchantStrategiesParams

    def messages(self, params: MerchantStrategiesParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": f"{merchant(seed).text} More orders are wanted; each percent of discount "
                 f"costs {params.cost / 100:.3g} orders per visitor. Answer `discount N`, N from 0 to {params.most}."}]

    def episode(self, params: MerchantStrategiesParams, seed: int, item: Row | None) -> "StrategyEpisode":
        return StrategyEpisode(merchant(seed), params, self.messages(params, seed, item))


class StrategyEpisode:
    """One proposal, and the reaction to it."""

    def __init__(
        self, wanting: Merchant, params: MerchantStrategiesParams, asked: list[Message], answer: str | None = None,
    ) -> None:
        self._merchant, self._params, self._asked, self._answer = wanting, params, asked, answer

    def reset(self) -> Observation:
        self._answer = None
        return self._seen(self._asked)

    def step(self, action: str) -> Transition:
        if self._answer is not None:
            raise EpisodeOver("the only proposal of this episode has been made")
        self._answer = action
        return Transition(self._seen([]), done=True, valid=self._discount() is not None)

    def snapshot(self) -> dict[str, Any]:
        return {"answer": self._answer}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self._answer = fields_of(snapshot, {"answer": str | None})["answer"]

    def fork(self) -> "StrategyEpisode":
        return StrategyEpisode(self._merchant, self._params, self._asked, self._answer)

    def state_hash(self) -> str:
        return digest({"messages": self._asked, "reward": self._params.reward, "answer": self._answer})

    def verify(self) -> float | None:
        """Return the score, from 0 to 1: predicted orders less the discount's cost. An answer of another form has 0."""
        discount = self._discount()
        if discount is None:
            return 0.0
        predicted = getattr(prediction(self._merchant, discount), self._params.reward)
        return worth(predicted, discount, self._params)

    def _discount(self) -> int | None:
        """Return the proposed discount in percent, None where the answer proposes none that may be."""
        said = _ACTION.fullmatch(self._answer or "")
        return int(said[1]) if said and int(said[1]) <= self._params.most else None

    def _seen(self, said: list[Message]) -> Observation:
        item: Row = {"merchant": self._merchant.text, "verified": self.verify()}
        if (discount := self._discount()) is not None:
            item |= self._predictions(prediction(self._merchant, discount))
        return Observation(said, item, {"type": "environment"}, int(self._answer is None), self.state_hash())

    def _predictions(self, found: "Prediction") -> Row:
        """Return the rates for the item of a grader, and the gap of the reasoner that is paid for as a component."""
        reasoned = found.unanchored if self._params.reward == "unanchored" else found.reasoned
        return {**found._asdict(), "flags": list(found.flags), "components": {GAP: abs(reasoned - found.fitted)}}


def worth(rate: float, discount: int, params: MerchantStrategiesParams) -> float:
    """Return orders less the cost of a discount, in a linear scale from 0 (none at the highest cost) to 1."""
    dearest = params.cost * params.most / 100
    return (rate - params.cost * discount / 100 + dearest) / (1.0 + dearest)


class Prediction(NamedTuple):
    """Predicted orders for each exposure: fused, of both branches, and what the reasoner said without its anchor."""

    fused: float
    reasoned: float
    fitted: float
    unanchored: float
    weight: float
    flags: tuple[str, ...]


@lru_cache(maxsize=8192)
def prediction(wanting: Merchant, discount: int) -> Prediction:
    """Return the shipped simulator's rates of its users at a merchant with a discount in percent."""
    simulator, fusion = synthetic_orders()
    audience, strategy = Audience(vars(wanting)), {"discount": discount / 100}
    members = simulator.rows(audience, strategy, simulator.users)
    drawn = simulator.rows(audience, strategy, personas(simulator.users, _PERSONAS, 0))
    q = world.reasoned(drawn)[:, None]
    found = simulator.react(members, drawn, q, fusion)
    assert found.reasoned is not None  # the shipped reasoner always answers
    return Prediction(float(found.rates[0]), float(found.reasoned[0]), float(found.fitted[0]), float(q.mean()),
                      float(found.weights[0]), found.flags)
