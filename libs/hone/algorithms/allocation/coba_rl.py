"""CoBA-RL, arXiv 2602.03048: a fixed budget by a curve of value that follows the policy's failure rate. numpy, float64.

A rollout is worth what it adds to (1 - exp(-n p (1 - p) / tau)) times a Beta density at the prompt's pass rate p. The
more the policy fails, the easier are the prompts at which the density is high. Marginal values fall, so that taking the
largest one at a time is optimal. The three tiers and the order of what is left are known from the released code alone.
"""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.allocation.inputs import AllocationInputs, GroupOutcomes, RolloutBounds
from hone.algorithms.allocation.shares import equal_shares
from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Method, Metrics, State

_SLACK = 1e-9
_HARD, _EASY = 0.05, 0.99
"""Pass rates below the first are hard, above the second easy, between them in the middle."""


class CobaRlParams(RolloutBounds):
    """Bounds, the curve of value, and how long outcomes count."""

    n_max: int = Field(128, ge=1, description="Most rollouts of a prompt.")
    kappa: float = Field(11.0, ge=3, description="Sum of the density's two parameters: the larger, the narrower it is.")
    window: int = Field(
        1, ge=1, description="Earlier groups of a prompt, and earlier steps of the run, of which means are taken.")
    tau_min: float = Field(3.0, gt=0, description="Rollouts times p (1 - p) that are worth 63 %, for equal pass rates.")
    tau_max: float = Field(12.0, gt=0, description="The same for pass rates that differ as much as var_max.")
    var_max: float = Field(0.1667, gt=0, description="Variance of pass rates from which tau is tau_max.")
    clip: float = Field(0.01, gt=0, lt=0.5, description="Pass rates are clipped to [clip, 1 - clip].")
    tiers: bool = Field(True, description="Keep part of the budget for prompts that fail always; false: value alone.")
    middle_share: float = Field(
        0.8, ge=0.6, le=1, description="Largest share of what exceeds n_min that goes to prompts of the middle tier.")
    power: float = Field(1.0, ge=0, description="Power of 1 - p, by which the rest is distributed inside a tier.")
    success: float = Field(
        1.0, gt=0, le=1, description="Share of the grader's range from which a sample counts as a success.")
    unseen: Literal["predicted", "half"] = Field(
        "predicted", description="Pass rate of a prompt without outcomes: the chance that is predicted, or 0.5 where "
        "none is; or 0.5 always, as in the released code.")
    half_life: float | None = Field(
        None, gt=0, description="Steps after which a pass rate has moved half way to the mean of the batch; null: pass "
        "rates do not age.")

    def needs(self) -> frozenset[str]:
        """The prompts' earlier outcomes, how often earlier steps succeeded, and predictions if they are wanted."""
        return frozenset({"outcomes", "success_rates"} | ({"predicted"} if self.unseen == "predicted" else set()))

    def recent_steps(self) -> int:
        """Return of how many earlier steps the allocation reads the success rates."""
        return self.window

    def expected(self, inputs: AllocationInputs) -> Sequence[float | None]:
        """Return the pass rate that the allocation takes for each prompt; None: it knows none."""
        return [None if math.isnan(rate) else rate for rate in pass_rates(inputs, self).tolist()]

    def success_at(self) -> float:
        """Return the share of the range of rewards from which a sample counts as a success."""
        return self.success

    def clipped(self, rates: Floats) -> Floats:
        """Return pass rates in [clip, 1 - clip]."""
        return np.clip(rates, self.clip, 1 - self.clip)

    def tau(self, chances: Floats) -> float:
        """Return tau for clipped pass rates that vary as much as these."""
        spread = min(max(float(chances.var()) / self.var_max, 0.0), 1.0)
        return self.tau_min + (self.tau_max - self.tau_min) * spread


@dataclass(frozen=True)
class Capability:
    """How often the policy failed lately, and the parameters of the density of value that follow from it."""

    failure: float | None  # mean over the last steps; None: there was none
    alpha: float
    beta: float

    @classmethod
    def of(cls, success_rates: Sequence[float], params: CobaRlParams) -> "Capability":
        """Return the capability after steps with these success rates, of which the last `window` count.

        alpha = clip(1 + (kappa - 2) F~, 1, kappa - 1), beta = kappa - alpha, F~ = `sharpened(F)`, F the mean of 1 - s.
        Before the first step alpha = kappa - 2 and beta = 2.
        """
        recent = [rate for rate in success_rates if math.isfinite(rate)][-params.window:]
        if not recent:
            return cls(None, params.kappa - 2, 2.0)
        failure = 1 - sum(recent) / len(recent)
        alpha = min(max(1 + (params.kappa - 2) * sharpened(failure), 1.0), params.kappa - 1)
        return cls(failure, alpha, params.kappa - alpha)

    def density(self, chances: Floats) -> Floats:
        """Return the Beta(alpha, beta) density at each chance in (0, 1)."""
        norm = math.lgamma(self.alpha + self.beta) - math.lgamma(self.alpha) - math.lgamma(self.beta)
        found: Floats = np.exp(norm + (self.alpha - 1) * np.log(chances) + (self.beta - 1) * np.log1p(-chances))
        return found


def sharpened(failure: float) -> float:
    """Return F~ = F if F > 0.5, else 1 / (1 + exp(-10 (F - 0.5)))."""
    return failure if failure > 0.5 else 1 / (1 + math.exp(-10 * (failure - 0.5)))


@dataclass(frozen=True)
class Curve:
    """The value of rollouts of N prompts: Val(n) = (1 - exp(-n q / tau)) density, q = p (1 - p)."""

    density: Floats  # [N]
    rate: Floats  # [N], q / tau

    @classmethod
    def of(cls, chances: Floats, capability: Capability, tau: float) -> "Curve":
        """Return the curve of prompts with these chances, each in (0, 1)."""
        return cls(capability.density(chances), chances * (1 - chances) / tau)

    def value(self, rollouts: Ints) -> Floats:
        """Return Val(n_i), [N]."""
        found: Floats = -np.expm1(-rollouts * self.rate) * self.density
        return found

    def marginal(self, place: int, rollouts: int) -> float:
        """Return Val(n + 1) - Val(n) of one prompt."""
        rate = float(self.rate[place])
        return float(self.density[place]) * math.exp(-rollouts * rate) * -math.expm1(-rate)

    def greedy(self, units: int, bounds: tuple[int, int]) -> Ints:
        """Return n_i after giving `units` rollouts above the fewest, each where it adds most; ties: the first prompt.

        Most are given at once: all whose value is above a level that is searched for. The heap gives the others.
        """
        given = np.full(len(self.rate), bounds[0]) + self._above(self._level(units, bounds), bounds)
        heap = [(-self.marginal(place, int(count)), place) for place, count in enumerate(given) if count < bounds[1]]
        heapq.heapify(heap)
        for _ in range(units - int((given - bounds[0]).sum())):
            if not heap:
                break
            _, place = heap[0]
            given[place] += 1
            if given[place] < bounds[1]:
                heapq.heapreplace(heap, (-self.marginal(place, int(given[place])), place))
            else:
                heapq.heappop(heap)
        return given

    def _above(self, level: float, bounds: tuple[int, int]) -> Ints:
        """Return how many rollouts above the fewest are worth more than exp(level), for certain."""
        most = (np.log(self.density) + np.log(-np.expm1(-self.rate)) - level - _SLACK) / self.rate
        counts: Ints = np.clip(np.floor(most) + 1, bounds[0], bounds[1]).astype(np.int64) - bounds[0]
        return counts

    def _level(self, units: int, bounds: tuple[int, int]) -> float:
        """Return the logarithm of a value above which at most `units` rollouts are, and hardly fewer."""
        low, high = -1500.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self._above(middle, bounds).sum() <= units else (middle, high)
        return high


def coba_rl(inputs: AllocationInputs, params: CobaRlParams, state: State) -> tuple[list[int], State, Metrics]:
    """n_min <= n_i <= n_max with sum n_i = budget; most go where Val(n + 1) - Val(n) is largest.

    Val(n, p) = (1 - exp(-n p (1 - p) / tau)) BetaPDF(p; alpha, beta). tau rises from tau_min to tau_max with the
    variance of p. alpha and beta follow the mean failure F of the last `window` steps: the density's mode is F for F >
    0.5, and falls faster than F below. p is the pass rate of the prompt's last `window` groups; for a prompt that was
    never seen its predicted chance, else 0.5. Nothing known of any prompt, or a budget below n_min each: equal shares.
    """
    rates = pass_rates(inputs, params)
    capability = Capability.of(inputs.success_rates, params)
    if not len(rates) or np.isnan(rates).all() or inputs.budget < len(rates) * params.n_min:
        given = np.minimum(equal_shares(len(rates), inputs.budget), params.n_max)
        return given.tolist(), state, {**_figures(capability), "unspent": float(inputs.budget - given.sum())}
    given, tau = allocated(np.nan_to_num(rates, nan=0.5), inputs.budget, capability, params)
    return given.tolist(), state, {
        **_figures(capability), "tau": tau, "unspent": float(inputs.budget - given.sum()),
        **{f"share/{name}": float(given[own].sum() / max(1, given.sum()))
           for name, own in tiers(np.nan_to_num(rates, nan=0.5)).items()}}


def _figures(capability: Capability) -> Metrics:
    known = {} if capability.failure is None else {"failure": capability.failure}
    return {**known, "alpha": capability.alpha, "beta": capability.beta}


def pass_rates(inputs: AllocationInputs, params: CobaRlParams) -> Floats:
    """Return the pass rate of each prompt over its last groups, its predicted chance if it has none, else NaN, [N]."""
    seen = [inputs.groups(task)[-params.window:] for task in inputs.task_hashes]
    own = np.array([_rate(groups) for groups in seen], np.float64)
    if params.half_life is not None and not np.isnan(own).all():
        ages = np.array([inputs.step - groups[-1].step if groups else 0 for groups in seen], np.float64)
        mean = np.nanmean(own)
        own = mean + (own - mean) * 0.5 ** (np.maximum(ages, 0) / params.half_life)
    if params.unseen == "half":
        return own
    expected = np.array([math.nan if chance is None else chance for chance in inputs.chances], np.float64)
    return np.where(np.isnan(own), expected, own)


def _rate(groups: Sequence[GroupOutcomes]) -> float:
    return sum(one.successes for one in groups) / sum(one.samples for one in groups) if groups else math.nan


def tiers(rates: Floats) -> Mapping[str, Ints]:
    """Return the indices of prompts that are hard, in the middle and easy, by their pass rates before clipping."""
    hard, easy = rates < _HARD, rates > _EASY
    return {"hard": np.flatnonzero(hard), "middle": np.flatnonzero(~hard & ~easy), "easy": np.flatnonzero(easy)}


def allocated(rates: Floats, budget: int, capability: Capability, params: CobaRlParams) -> tuple[Ints, float]:
    """Return n_i of prompts with these pass rates, [N], and tau, where the budget is at least n_min each."""
    prompts, bounds = len(rates), (params.n_min, params.n_max)
    chances = params.clipped(rates)
    found = tiers(rates) if params.tiers else {"middle": np.arange(prompts)}
    middle, rest = found["middle"], budget - prompts * params.n_min
    share = _middle_share(len(middle), prompts, params) if params.tiers else 1.0
    given, tau = np.full(prompts, params.n_min), params.tau_min
    if len(middle):
        tau = params.tau(chances[middle])
        curve = Curve.of(chances[middle], capability, tau)
        given[middle] = curve.greedy(int(rest * share + _SLACK), bounds)
    rest = budget - int(given.sum())
    for tier in found.values():
        rest = _spread(given, tier, (1 - chances) ** params.power, rest, params.n_max)
    return given, tau


def _middle_share(middle: int, prompts: int, params: CobaRlParams) -> float:
    """Return the largest share if more than half of the prompts are in the middle; else less, from 0.6 on."""
    if 2 * middle > prompts:
        return params.middle_share
    return 0.6 + (params.middle_share - 0.6) * 2 * middle / prompts


def _spread(given: Ints, tier: Ints, weights: Floats, rest: int, most: int) -> int:
    """Add rollouts to a tier's prompts by weight, and one each by index, until all are at most; return what is left."""
    while rest > 0 and len(open_ := tier[given[tier] < most]):
        shares = np.floor(rest * weights[open_] / weights[open_].sum() + _SLACK).astype(np.int64)
        added = np.minimum(shares, most - given[open_])
        given[open_] += added
        rest -= int(added.sum())
        below = open_[given[open_] < most][:rest]
        given[below] += 1
        rest -= len(below)
    return rest


METHOD: Method[AllocationInputs, list[int]] = Method(coba_rl, CobaRlParams)
