"""Mines decision policies of behaviour: leaves of shallow trees and given hypotheses, kept if they carry over.

A reconstruction: arXiv 2604.15190 says that policies are mined of trajectories, and not how. Rates always come from
data; a hypothesis only says where to look.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hone.audiences.behaviour import Behaviour
from hone.audiences.columns import Floats
from hone.audiences.decision_policies import Condition, DecisionPolicy, PolicySet, Predicate, all_hold, expect_known
from hone.spec.parameters import Strict
from hone.spec.problems import Invalid, Problem

_DEEPEST, _TREES = 3, 6


class MiningParams(Strict):
    """Limits that a policy has to pass to be kept."""

    n_min: int = Field(100, ge=1, description="Exposures for which the condition holds.")
    merchants_min: int = Field(5, ge=1, description="Merchants at which it holds for some exposure.")
    lor_min: float = Field(0.2, ge=0, description="Distance from the others' rate, as a difference of logits.")
    agree: float = Field(0.8, ge=0, le=1, description="Share of held-out merchants on which the direction agrees.")
    cal_max: float = Field(0.05, ge=0, le=1, description="Mean error of the rate on held-out merchants, beyond what "
                           "so few exposures err by chance.")
    duplicate: float = Field(0.8, ge=0, le=1, description="Overlap of two policies, by Jaccard, above which the weaker "
                             "one is left out.")
    max_policies: int = Field(40, ge=0, le=500, description="Policies of a step.")


@dataclass(frozen=True)
class _Candidate:
    policy: DecisionPolicy
    fired: NDArray[np.bool_]  # [N]

    @property
    def strength(self) -> float:
        return self.policy.support * abs(self.policy.log_odds_ratio)


@dataclass(frozen=True)
class _Parts:
    """Units that are held out in turn: merchants, or weeks of a single merchant. Raises Invalid for a single week."""

    place: NDArray[np.int64]  # [N], of each exposure's part
    single: bool

    @classmethod
    def of(cls, behaviour: Behaviour) -> "_Parts":
        _, place = np.unique(behaviour.merchants, return_inverse=True)
        if place.any():
            return cls(place, single=False)
        weeks, place = np.unique(behaviour.weeks, return_inverse=True)
        if len(weeks) == 1:
            raise Invalid([Problem("week", f"{weeks[0]:g} in every row", "several weeks, because the rows are of one "
                                   "merchant: rules have to hold in weeks that are left out")])
        return cls(place, single=True)


def mine(
    behaviour: Behaviour, params: MiningParams, hypotheses: Sequence[Condition] = (), seed: int = 0,
) -> PolicySet:
    """Return the policies of N exposures, the strongest first within each step.

    With one merchant, weeks are held out instead and no policy is called transferable. Raises Invalid for a hypothesis
    about a column that the behaviour lacks.
    """
    for place, one in enumerate(hypotheses):
        expect_known(one, behaviour.columns.names, f"hypotheses[{place}]")
    kept = [policy for place in range(len(behaviour.steps))
            for policy in _of_step(behaviour, place, params, hypotheses, seed)]
    named = tuple(one.model_copy(update={"id": f"p{number}"}) for number, one in enumerate(kept))
    return PolicySet(behaviour.columns.names, behaviour.steps, tuple(behaviour.outcomes.mean(0).tolist()), named)



def _of_step(
    behaviour: Behaviour, place: int, params: MiningParams, hypotheses: Sequence[Condition], seed: int,
) -> list[DecisionPolicy]:
    conditions = dict.fromkeys([*_leaves(behaviour, place, params, seed), *hypotheses])
    parts = _Parts.of(behaviour)
    found = [one for condition in conditions if (one := _measured(behaviour, place, condition, parts, params))]
    kept = list[_Candidate]()
    for one in sorted(found, key=lambda one: -one.strength):
        if len(kept) < params.max_policies and not any(_overlap(one, other) > params.duplicate for other in kept):
            kept.append(one)
    return [one.policy for one in kept]


def _leaves(behaviour: Behaviour, place: int, params: MiningParams, seed: int) -> Iterator[Condition]:
    """Yield the conditions of all leaves of small trees, some of which see a part of the columns alone."""
    from sklearn.tree import DecisionTreeClassifier

    wanted = behaviour.outcomes[:, place] > 0.5
    for depth in range(1, _DEEPEST + 1):
        for number in range(_TREES):
            tree = DecisionTreeClassifier(
                max_depth=depth, min_samples_leaf=params.n_min, max_features=None if number == 0 else "sqrt",
                random_state=seed * _TREES + number)
            if len(wanted) >= 2 * params.n_min:
                yield from _paths(tree.fit(behaviour.encoded, wanted).tree_, behaviour.columns.names)


def _paths(tree: object, names: Sequence[str]) -> Iterator[Condition]:
    left, right, feature, bound = (getattr(tree, name) for name in (
        "children_left", "children_right", "feature", "threshold"))
    waiting: list[tuple[int, Condition]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        if left[node] < 0:
            if path:
                yield path
            continue
        column, at = names[feature[node]], float(bound[node])
        waiting += [(left[node], (*path, Predicate(column=column, comparison="<=", bound=at))),
                    (right[node], (*path, Predicate(column=column, comparison=">", bound=at)))]


def _measured(
    behaviour: Behaviour, place: int, condition: Condition, parts: _Parts, params: MiningParams,
) -> _Candidate | None:
    """Return a condition with its rates, or None where it is not kept."""
    outcome = behaviour.outcomes[:, place]
    fired = all_hold(condition, behaviour.columns.names, behaviour.encoded)
    support, merchants = int(fired.sum()), 1 if parts.single else len(np.unique(parts.place[fired]))
    if support < params.n_min or support == len(fired) or (not parts.single and merchants < params.merchants_min):
        return None
    made = DecisionPolicy(
        condition=condition, step=behaviour.steps[place], rate=float(outcome[fired].mean()),
        base_rate=float(outcome[~fired].mean()), support=support, merchants=merchants, transferable=not parts.single)
    if abs(made.log_odds_ratio) < params.lor_min or not _carries_over(outcome, fired, parts.place, params):
        return None
    return _Candidate(made, fired)


def _carries_over(
    outcome: Floats, fired: NDArray[np.bool_], where: NDArray[np.int64], params: MiningParams,
) -> bool:
    """Return whether what the other merchants (or weeks) show holds on each one that is left out.

    The rate of a merchant's few exposures errs by chance; this much of the error does not count.
    """
    inside, inside_done = np.bincount(where, fired), np.bincount(where, fired * outcome)
    others, others_done = np.bincount(where, ~fired), np.bincount(where, ~fired * outcome)
    tested = (inside > 0) & (inside.sum() - inside > 0) & (others.sum() - others > 0)
    if not tested.any():
        return False
    rate = ((inside_done.sum() - inside_done)[tested] / (inside.sum() - inside)[tested])
    base = ((others_done.sum() - others_done)[tested] / (others.sum() - others)[tested])
    own = inside_done[tested] / inside[tested]
    agrees = np.sign(own - base) == np.sign(rate - base)
    chance = np.sqrt(2 / np.pi * rate * (1 - rate) / inside[tested])
    error = np.average(np.abs(rate - own), weights=inside[tested]) - np.average(chance, weights=inside[tested])
    return bool(agrees.mean() >= params.agree and error <= params.cal_max)


def _overlap(one: _Candidate, other: _Candidate) -> float:
    return float((one.fired & other.fired).sum() / (one.fired | other.fired).sum())


