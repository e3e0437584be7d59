"""The simulator of audiences: both branches as they were fitted, and what they say of a group.

Reconstruction of arXiv 2604.15190, as the package says.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hone.audiences.anchoring import anchored, logit, weight
from hone.audiences.columns import Columns, Features, Floats, Value
from hone.audiences.decision_policies import Condition, DecisionPolicy, PolicySet, all_hold, expect_known
from hone.audiences.fusion import Fusion
from hone.audiences.models import Model
from hone.audiences.reasoning import MOST_DROPPED, Question
from hone.spec.problems import Invalid, Problem, one_of

Bounds = tuple[float, float]
_SLACK = 0.01
"""Part of a strategy's range by which one may lie outside and still count as tried."""


@dataclass(frozen=True)
class Audience:
    """Users that meet a strategy of a merchant: those of the fit for whom the segment's predicates hold."""

    merchant: Mapping[str, Value]
    segment: Condition = ()


@dataclass(frozen=True)
class KnownUser:
    """A user of the logs, from whom personas are drawn."""

    id: str
    features: Mapping[str, Value]


@dataclass(frozen=True)
class Anchor:
    """How much the reasoner counts beside the evidence: a constant share, or one that falls with the support."""

    kappa: float = 50.0
    share: float | None = None

    def weights(self, support: Floats) -> Floats:
        """Return the reasoner's weight by support, of its shape."""
        return weight(support, self.kappa) if self.share is None else np.full(support.shape, self.share)


@dataclass(frozen=True)
class Reaction:
    """Predictions for a group, by step. `reasoned` is None where no reasoner could be read."""

    rates: Floats  # [K]
    reasoned: Floats | None
    fitted: Floats
    weights: Floats  # of the reasoned rate
    policies: tuple[DecisionPolicy, ...]  # active for some member, the most frequent first
    flags: tuple[str, ...]
    anchored: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [S, K] of the personas

    @property
    def gap(self) -> float | None:
        """Mean of |R - F| over steps."""
        return None if self.reasoned is None else float(np.mean(np.abs(self.reasoned - self.fitted)))


@dataclass(frozen=True)
class Simulator:
    """Both branches. With `drivers`, one logistic model a step stands for the rates of the policies: it goes on beyond
    the strategies of the logs, where rules stay at the rate of their last leaf.
    """

    columns: Columns
    policies: PolicySet
    models: tuple[Model, ...]  # K, of columns, policies and evidence
    users: tuple[KnownUser, ...]
    ranges: Mapping[str, Bounds]  # of the strategy's columns
    drivers: tuple[Model, ...] = ()  # K, of columns
    anchor: Anchor = Anchor()
    strata: tuple[str, ...] = ()  # names of words of the merchant
    policies_shown: int = 6

    @property
    def steps(self) -> tuple[str, ...]:
        return self.policies.steps

    def evidence(self, encoded: Floats) -> tuple[Floats, Floats]:
        """Return the evidence's rates and its support for rows [N, F], both [N, K]."""
        rates, support = self.policies.evidence(self.policies.fired(encoded))
        if self.drivers:
            rates = np.column_stack([model.predict(encoded) for model in self.drivers])
        return rates, support

    def fitted(self, encoded: Floats) -> Floats:
        """Return the fitted branch's probabilities of rows [N, F], [N, K]."""
        rates, _ = self.evidence(encoded)
        seen = inputs(encoded, self.policies, rates)
        return np.column_stack([model.predict(rows) for model, rows in zip(self.models, seen, strict=True)])

    def anchored(self, encoded: Floats, q: Floats) -> Floats:
        """Return a reasoner's probabilities [N, K] drawn towards the evidence of rows [N, F]."""
        rates, support = self.evidence(encoded)
        return anchored(q, rates, self.anchor.weights(support))

    def members(self, audience: Audience) -> list[KnownUser]:
        """Return the users of an audience. Raises Invalid for a segment about unknown columns, or without users."""
        expect_known(audience.segment, [name for name in self.columns.names if name.startswith("user.")], "segment")
        lone = Columns(tuple(one for one in self.columns.numbers if one.startswith("user.")),
                       {one: known for one, known in self.columns.levels.items() if one.startswith("user.")})
        encoded = lone.encode([{"user": one.features} for one in self.users])
        held = all_hold(audience.segment, lone.names, encoded)
        if not held.any():
            raise Invalid([Problem("segment", f"no user of {len(self.users)}", "one for whom it holds")])
        return [one for one, holds in zip(self.users, held, strict=True) if holds]

    def rows(self, audience: Audience, strategy: Mapping[str, Value], users: Sequence[KnownUser]) -> list[Features]:
        """Return one exposure for each user."""
        return [{"user": one.features, "merchant": audience.merchant, "strategy": strategy} for one in users]

    def questions(self, rows: Sequence[Features]) -> list[Question]:
        """Return the question to a reasoner about each row."""
        fired = self.policies.fired(self.columns.encode(rows))
        return [Question(row, tuple(one.text for one in self.policies.active(held, self.policies_shown)), self.steps)
                for row, held in zip(rows, fired, strict=True)]

    def checked(self, rows: Sequence[Features]) -> Mapping[str, Value]:
        """Return the merchant of exposures that are all of one. Raises Invalid where features differ from the logs'."""
        self.columns.encode(rows[:1])
        strange = [f"{part}.{name}" for part in ("merchant", "strategy") for name in rows[0][part]
                   if f"{part}.{name}" not in self.columns.fields]
        if strange:
            raise Invalid([Problem(strange[0], "a feature", one_of(strange[0], self.columns.fields))])
        return rows[0]["merchant"]

    def stratum(self, merchant: Mapping[str, Value]) -> str:
        """Return the name of a merchant's stratum."""
        return " x ".join(str(merchant[name]) for name in self.strata)

    def beyond(self, encoded: Floats) -> list[str]:
        """Return the columns of the strategy in which rows [N, F] leave what the logs hold."""
        places = {name: place for place, name in enumerate(self.columns.names)}
        found = []
        for name, (low, high) in self.ranges.items():
            slack, values = _SLACK * (high - low), encoded[:, places[name]]
            if values.min() < low - slack or values.max() > high + slack:
                found.append(name)
        return found

    def react(
        self, members: Sequence[Features], personas: Sequence[Features], q: Floats | None, fusion: Fusion | None,
    ) -> Reaction:
        """Return the reaction of a group of exposures, given a reasoner's probabilities [S, K] of its personas.

        NaN in `q`: a persona without a readable answer. With more than a fifth of them, without `q`, or without
        weights, the fitted rate stands alone. Raises Invalid for features that differ from those of the logs.
        """
        encoded = self.columns.encode(members)
        fitted, beyond = self.fitted(encoded).mean(0), self.beyond(encoded)
        flags = [f"extrapolates: {name}" for name in beyond]
        flags += [] if self.policies.policies else ["no policies"]
        read = np.zeros(0, bool) if q is None else ~np.isnan(q).any(1)
        active = self._active(encoded)
        if q is None or not read.size or 1.0 - read.mean() > MOST_DROPPED:
            return Reaction(fitted, None, fitted, np.zeros(len(self.steps)), active, (*flags, "no reasoner"))
        drawn = np.full(q.shape, math.nan)
        drawn[read] = self.anchored(self.columns.encode(personas)[read], q[read])
        reasoned = drawn[read].mean(0)
        if fusion is None:
            return Reaction(fitted, reasoned, fitted, np.zeros(len(self.steps)), active, (*flags, "not calibrated"),
                            drawn)
        stratum = self.stratum(members[0]["merchant"])
        return Reaction(
            fusion.fuse(reasoned, fitted, stratum, bool(beyond)), reasoned, fitted,
            fusion.weight(stratum, bool(beyond)), active, tuple(flags), drawn)

    def _active(self, encoded: Floats) -> tuple[DecisionPolicy, ...]:
        often = self.policies.fired(encoded).sum(0)
        return tuple(self.policies.policies[place] for place in np.argsort(-often, kind="stable") if often[place] > 0)


def inputs(encoded: Floats, policies: PolicySet, rates: Floats) -> list[Floats]:
    """Return the fitted branch's columns for each step: the features [N, F], which policies hold, the evidence's logit.

    A policy without support stands for nothing and has no column.
    """
    supported = np.array([policy.support > 0 for policy in policies.policies], bool)
    fired = policies.fired(encoded)[:, supported]
    return [np.column_stack([encoded, fired, logit(np.clip(rates[:, place], 1e-6, 1 - 1e-6))])
            for place in range(len(policies.steps))]


def personas(users: Sequence[KnownUser], count: int, seed: int) -> list[KnownUser]:
    """Return up to `count` different users, the same for the same seed."""
    chosen: NDArray[np.int64] = np.random.default_rng(seed).permutation(len(users))[:count]
    return [users[place] for place in chosen]
