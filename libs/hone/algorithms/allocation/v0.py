"""V0's rollout budget, arXiv 2602.03584: the most utility by predicted chances of success. numpy, float64.

The utility was reported by summaries of the paper. It is not concave for small chances, so that taking the largest gain
one at a time is not optimal. Up to a size the optimum is found by dynamic programming. Beyond it, chances are rounded
to 0.001, and prompts follow the concave envelope of their utility: what is lost is below the gain of one prompt's jump.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from hone.algorithms.allocation.coba_rl import Capability, CobaRlParams, Curve
from hone.algorithms.allocation.inputs import AllocationInputs, RolloutBounds
from hone.algorithms.allocation.shares import equal_shares
from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Method, Metrics, State

EXACT = 1 << 27
"""Largest number of prompts times budget times rollouts to choose from for which the optimum is computed: about 1 s."""
_TIE = 1e-12
Utility = Callable[[Ints, Floats], Floats]
"""From numbers of rollouts and chances, of shapes that fit each other, the utility of each."""


class V0Params(RolloutBounds):
    """Bounds and the utility."""

    utility: Literal["contrasted", "mixed", "coba_rl"] = Field(
        "contrasted", description="contrasted: expected failures beside a success, n (1 - p) (1 - (1 - p)^(n - 1)); "
        "mixed: probability that both outcomes occur, 1 - p^n - (1 - p)^n; coba_rl: the value of CoBA-RL.")

    def needs(self) -> frozenset[str]:
        """Predicted chances; for the value of CoBA-RL also how often earlier steps succeeded."""
        return frozenset({"predicted"} | ({"success_rates"} if self.utility == "coba_rl" else set()))


def contrasted(rollouts: Ints, chances: Floats) -> Floats:
    """U = n (1 - p) (1 - (1 - p)^(n - 1)); 0 for n <= 1."""
    failed = 1 - chances
    found: Floats = np.where(rollouts > 1, rollouts * failed * (1 - failed ** np.maximum(rollouts - 1, 0)), 0.0)
    return found


def mixed(rollouts: Ints, chances: Floats) -> Floats:
    """U = 1 - p^n - (1 - p)^n; 0 for n <= 1."""
    found: Floats = np.where(rollouts > 1, 1 - chances**rollouts - (1 - chances) ** rollouts, 0.0)
    return found


def v0(inputs: AllocationInputs, params: V0Params, state: State) -> tuple[list[int], State, Metrics]:
    """The n_i with n_min <= n_i <= n_max and sum n_i = budget for which sum U(n_i, p_i) is largest.

    p is the predicted chance of success; 0.5 for a prompt without one. Ties: the earlier prompt gets more. No
    prediction at all, or a budget below n_min each: equal shares. A budget above n_max each is not spent.
    """
    prompts, bounds = len(inputs.task_hashes), (params.n_min, params.n_max)
    if all(chance is None for chance in inputs.chances) or inputs.budget < prompts * params.n_min:
        return equal_shares(prompts, inputs.budget).tolist(), state, {"unspent": 0.0}
    chances = np.array([0.5 if chance is None else chance for chance in inputs.chances], np.float64)
    utility, budget = _utility(chances, inputs, params), min(inputs.budget, prompts * params.n_max)
    given = best(chances, budget, bounds, utility)
    return given.tolist(), state, {
        "unspent": float(inputs.budget - budget), "utility": float(utility(given, chances).mean()),
        "exact": float(_exact(prompts, budget, bounds))}


def _utility(chances: Floats, inputs: AllocationInputs, params: V0Params) -> Utility:
    if params.utility != "coba_rl":
        return {"contrasted": contrasted, "mixed": mixed}[params.utility]
    curve = CobaRlParams(n_min=params.n_min, n_max=params.n_max)
    capability, tau = Capability.of(inputs.success_rates, curve), curve.tau(curve.clipped(chances))
    return lambda rollouts, own: Curve.of(curve.clipped(own), capability, tau).value(rollouts)


def best(chances: Floats, budget: int, bounds: tuple[int, int], utility: Utility) -> Ints:
    """Return n_i of prompts with these chances, [N], where the budget is between the fewest and the most for all."""
    exact = _exact(len(chances), budget, bounds)
    return optimum(chances, budget, bounds, utility) if exact else envelope(chances, budget, bounds, utility)


def _exact(prompts: int, budget: int, bounds: tuple[int, int]) -> bool:
    return prompts * (budget - prompts * bounds[0] + 1) * (bounds[1] - bounds[0] + 1) <= EXACT


def optimum(chances: Floats, budget: int, bounds: tuple[int, int], utility: Utility) -> Ints:
    """Return the n_i, [N], with the largest total utility. Ties within 1e-12: the earlier prompt gets more.

    For each prompt, from the last on, `most[b]` is the best total of it and the later ones with b rollouts above n_min.
    """
    (low, high), rest = bounds, budget - len(chances) * bounds[0]
    width = min(high - low, rest)
    values = utility(np.arange(low, low + width + 1)[None], chances[:, None])
    most, chosen = np.full(rest + 1, -np.inf), np.zeros((len(chances), rest + 1), np.int32)
    most[0] = 0.0
    for place in reversed(range(len(chances))):
        best_here = np.full(rest + 1, -np.inf)
        for extra in range(width + 1):
            found = most[:rest + 1 - extra] + values[place, extra]
            better = found >= best_here[extra:] - _TIE
            better &= np.isfinite(found)
            chosen[place, extra:][better] = extra
            np.maximum(best_here[extra:], found, out=best_here[extra:])
        most = best_here
    given, left = np.full(len(chances), low), rest
    for place in range(len(chances)):
        given[place] += chosen[place, left]
        left -= int(chosen[place, left])
    return given


class _Jump(NamedTuple):
    """An edge of a concave envelope: the gain of each of `length` more rollouts, from `start` on."""

    gain: float
    start: int
    length: int
    group: int  # of prompts with equal chances


def envelope(chances: Floats, budget: int, bounds: tuple[int, int], utility: Utility) -> Ints:
    """Return n_i, [N], by edges of the concave envelopes, the steepest first. Chances are rounded to 0.001.

    The last edge may be too long for what is left: this goes one by one to the prompts that gain most.
    """
    low, high = bounds
    rounded, group = np.unique(np.round(chances, 3), return_inverse=True)
    values = utility(np.arange(low, high + 1)[None], rounded[:, None])
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    jumps = [jump for number, row in enumerate(values) for jump in _edges(row, low, number)]
    given, left = np.full(len(chances), low), budget - len(chances) * low
    for jump in sorted(jumps, key=lambda one: (-round(one.gain, 12), members[one.group][0], one.start)):
        own = members[jump.group]
        own = own[given[own] == jump.start][:left // jump.length]
        given[own] += jump.length
        left -= jump.length * len(own)
    for _ in range(left):
        gains = np.where(given < high, values[group, np.minimum(given + 1, high) - low] - values[group, given - low],
                         -np.inf)
        given[int(gains.argmax())] += 1
    return given


def _edges(values: Floats, low: int, group: int) -> Iterator[_Jump]:
    """Yield the edges of the concave envelope of a prompt's utility, from left to right."""
    hull = [0]
    for end in range(1, len(values)):
        while len(hull) > 1 and (values[hull[-1]] - values[hull[-2]]) * (end - hull[-1]) <= (
                values[end] - values[hull[-1]]) * (hull[-1] - hull[-2]):
            hull.pop()
        hull.append(end)
    for start, end in pairwise(hull):
        yield _Jump(float(values[end] - values[start]) / (end - start), low + start, end - start, group)


METHOD: Method[AllocationInputs, list[int]] = Method(v0, V0Params)
