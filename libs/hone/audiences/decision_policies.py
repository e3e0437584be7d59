"""Decision policies: rules with a measured rate, which the reasoner reads and the fitted branch has as features.

The form of a policy is a reconstruction: arXiv 2604.15190 says that both branches share policies mined of behaviour.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hone.audiences.anchoring import CAP, LEAST, MOST, logit
from hone.audiences.columns import Floats
from hone.spec.parameters import Strict
from hone.spec.problems import Invalid, Problem, one_of

Operator = Literal["<=", ">"]
_COMPARISONS = {"<=": operator.le, ">": operator.gt}
_WORDS = {"<=": "at most", ">": "more than"}


class Predicate(Strict):
    """A comparison of a column. That of a word is `merchant.category=cafe > 0.5`."""

    column: str = Field(max_length=300)
    comparison: Operator
    bound: float

    def holds(self, names: Sequence[str], encoded: Floats) -> NDArray[np.bool_]:
        """Return for which rows [N, F] it holds, [N]. Raises ValueError for a column that is none of `names`."""
        return np.asarray(_COMPARISONS[self.comparison](encoded[:, list(names).index(self.column)], self.bound))

    def __str__(self) -> str:
        field, is_word, level = self.column.partition("=")
        if is_word:
            return f"{field} is {'not ' if self.comparison == '<=' else ''}{level}"
        return f"{field} is {_WORDS[self.comparison]} {self.bound:.4g}"


Condition = tuple[Predicate, ...]


def expect_known(condition: Condition, names: Sequence[str], at: str) -> None:
    """Raise Invalid for a predicate about a column that is none of `names`."""
    for place, one in enumerate(condition):
        if one.column not in names:
            raise Invalid([Problem(f"{at}[{place}].column", repr(one.column), one_of(one.column, names))])


class DecisionPolicy(Strict):
    """Exposures for which all of up to three predicates hold end in `step` at `rate`, others at `base_rate`."""

    id: str = ""
    condition: Condition
    step: str
    rate: float = 0.0
    base_rate: float = 0.0
    support: int = 0  # exposures
    merchants: int = 0  # in which it holds for some
    transferable: bool = False  # whether it was tested on merchants that it was not measured on
    words: str = ""  # a sentence that a model wrote of it, checked; empty: none did

    @property
    def log_odds_ratio(self) -> float:
        """How much more likely the step is where the condition holds, as a difference of logits."""
        return float(np.diff(logit(np.clip([self.base_rate, self.rate], LEAST, MOST)))[0])

    @property
    def text(self) -> str:
        """The sentence that the reasoner reads: a model's, or that of the record."""
        return self.words or self.measured

    @property
    def measured(self) -> str:
        """The sentence of the record; it says nothing that the record does not."""
        condition = " and ".join(map(str, self.condition)) or "nothing in particular holds"
        doubt = "" if self.transferable else "; not tested on other merchants"
        return (f"Where {condition}, {self.rate:.1%} of users reach {self.step}, against {self.base_rate:.1%} of the "
                f"others ({self.support} exposures at {self.merchants} merchants{doubt}).")

    def fires(self, names: Sequence[str], encoded: Floats) -> NDArray[np.bool_]:
        """Return for which rows [N, F] the whole condition holds, [N]."""
        return all_hold(self.condition, names, encoded)


def all_hold(condition: Condition, names: Sequence[str], encoded: Floats) -> NDArray[np.bool_]:
    """Return for which rows [N, F] every predicate holds, [N]."""
    held = np.ones(len(encoded), bool)
    for one in condition:
        held &= one.holds(names, encoded)
    return held


@dataclass(frozen=True)
class PolicySet:
    """The policies of a fit, with the rate of each step over all exposures."""

    names: tuple[str, ...]  # of the columns
    steps: tuple[str, ...]  # K
    base_rates: tuple[float, ...]  # K
    policies: tuple[DecisionPolicy, ...]

    def fired(self, encoded: Floats) -> Floats:
        """Return 1 where a policy's condition holds, else 0: [N, P]."""
        fired = [policy.fires(self.names, encoded) for policy in self.policies]
        return np.array(fired, np.float64).T.reshape(len(encoded), len(self.policies))

    def evidence(self, fired: Floats) -> tuple[Floats, Floats]:
        """Return the mean rate of active policies weighted by support, and their support, both [N, K].

        Where none is active these are the rate over all exposures, and 0.
        """
        rates, support = np.zeros((len(fired), len(self.steps))), np.zeros((len(fired), len(self.steps)))
        for place, step in enumerate(self.steps):
            own = np.array([policy.support * (policy.step == step) for policy in self.policies], np.float64)
            measured = np.array([policy.rate for policy in self.policies], np.float64)
            support[:, place] = fired @ own
            weighted = fired @ (own * measured)
            rates[:, place] = np.where(support[:, place] > 0, weighted / np.maximum(support[:, place], 1.0),
                                       self.base_rates[place])
        return rates, np.minimum(support, CAP)

    def active(self, fired: Floats, most: int) -> list[DecisionPolicy]:
        """Return the policies that hold for one row [P], those with most support first, at most `most`."""
        held = [policy for policy, holds in zip(self.policies, fired, strict=True) if holds]
        return sorted(held, key=lambda policy: (-policy.support, policy.id))[:most]
