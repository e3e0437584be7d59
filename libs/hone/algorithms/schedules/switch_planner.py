"""Plans the switch to large batches from pilot runs: D - P* = e^c D^gamma, arXiv 2602.14208."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats
from hone.algorithms.method import Params
from hone.algorithms.schedules.batch_size import SizeStage, half_up, two_stages
from hone.spec.problems import Invalid, Problem

MAX_EXTRAPOLATION = 30
"""Largest ratio of a planned budget to the largest pilot's, or of the smallest pilot's to a planned budget."""

_BUDGETS, _FRACTIONS = 3, 3


class Pilot(Params):
    """A short run with one switch, and its loss."""

    budget: int = Field(ge=1, description="D, rows of the run.")
    fraction: float = Field(ge=0, lt=1, description="P / D, share of the rows consumed at the switch.")
    loss: float = Field(description="Loss at the end of the run; lower is better.")


@dataclass(frozen=True)
class SwitchPlan:
    """The switch P* for a budget, in rows consumed, and its uncertainty."""

    budget: int
    switch: float
    low: float  # band of +- 2 standard errors of a new prediction, clipped to [0, budget]
    high: float
    flags: tuple[str, ...]  # warnings about the plan

    def stages(self, small: int, large: int) -> list[SizeStage]:
        """Return B_1 until P*, rounded half up, then B_2."""
        return two_stages(half_up(self.switch), self.budget, small, large)


@dataclass(frozen=True)
class SwitchPlanner:
    """The fitted power law."""

    gamma: float
    c: float
    budgets: tuple[int, ...]  # of the pilots, ascending, at least 3
    variance: float  # of log(D - P*) about the fit, budgets - 2 degrees of freedom
    flags: tuple[str, ...]

    @classmethod
    def fit(cls, pilots: Sequence[Pilot]) -> "SwitchPlanner":
        """Fit log(D - P*) = gamma log D + c by least squares. Runs of one setting are averaged.

        Raises hone.spec.problems.Invalid with fewer than 3 budgets, or fewer than 3 fractions of a budget.
        """
        grids = _grids(pilots)
        best = [_best_tail(budget, grid) for budget, grid in grids.items()]
        x, y = np.log(list(grids)), np.array([tail for tail, _ in best])
        gamma = float((x - x.mean()) @ (y - y.mean()) / _spread(x))
        c = float(y.mean() - gamma * x.mean())
        variance = float(np.square(y - gamma * x - c).sum() / (len(x) - 2))
        return cls(gamma, c, tuple(grids), variance, tuple(flag for _, flag in best if flag))

    def plan(self, budget: int) -> SwitchPlan:
        """P*(D) = D - e^c D^gamma; band: D - e^c D^gamma e^(+- 2 se), all clipped to [0, D].

        se^2 = variance (1 + 1/K + (log D - mean)^2 / sum_k (log D_k - mean)^2) over the K pilot budgets.
        Raises hone.spec.problems.Invalid when the budget is more than 30 times beyond the pilots'.
        """
        self._refuse_far(budget)
        x, at = np.log(self.budgets), math.log(budget)
        error = math.sqrt(self.variance * (1 + 1 / len(x) + float(at - x.mean()) ** 2 / _spread(x)))
        middle = self.gamma * at + self.c
        low, switch, high = (
            budget * (1 - math.exp(min(0.0, middle - at + shift))) for shift in (2 * error, 0.0, -2 * error))
        return SwitchPlan(budget, switch, low, high, self.flags)

    def _refuse_far(self, budget: int) -> None:
        least, most = self.budgets[0] / MAX_EXTRAPOLATION, self.budgets[-1] * MAX_EXTRAPOLATION
        if not least <= budget <= most:
            raise Invalid([Problem("budget", str(budget), f"{math.ceil(least)} to {most} rows: at most "
                                   f"{MAX_EXTRAPOLATION} times beyond the pilots")])


def _grids(pilots: Sequence[Pilot]) -> dict[int, dict[float, float]]:
    """Return budget -> fraction -> mean loss, all ascending."""
    grids: dict[int, dict[float, float]] = {}
    for budget in sorted({pilot.budget for pilot in pilots}):
        runs = [pilot for pilot in pilots if pilot.budget == budget]
        grids[budget] = {fraction: float(np.mean([run.loss for run in runs if run.fraction == fraction]))
                         for fraction in sorted({run.fraction for run in runs})}
    problems = [] if len(grids) >= _BUDGETS else [
        Problem("pilots", f"budgets {list(grids)}", f"at least {_BUDGETS} different ones")]
    problems += [
        Problem("pilots", f"fractions {list(grid)} of budget {budget}", f"at least {_FRACTIONS} different ones")
        for budget, grid in grids.items() if len(grid) < _FRACTIONS]
    if problems:
        raise Invalid(problems)
    return grids


def _best_tail(budget: int, grid: dict[float, float]) -> tuple[float, str]:
    """Return log(D - P*) of one budget and a flag, empty where the best point of the grid has two neighbours."""
    fractions, loss = list(grid), np.array(list(grid.values()))
    x: Floats = np.log(budget * (1 - np.array(fractions)))
    best = int(np.argmin(loss))
    if best in (0, len(loss) - 1):
        return float(x[best]), f"budget {budget}: the best fraction, {fractions[best]:g}, is at the edge of its grid"
    near = slice(best - 1, best + 2)
    return _vertex(x[near], loss[near]), ""


def _vertex(x: Floats, loss: Floats) -> float:
    """Return the minimum of the parabola through three points, of which the middle one is lowest."""
    left, right = x[1] - x[0], x[1] - x[2]
    from_left, from_right = left * (loss[1] - loss[2]), right * (loss[1] - loss[0])
    return float(x[1] - (left * from_left - right * from_right) / (2 * (from_left - from_right)))


def _spread(x: Floats) -> float:
    return float(np.square(x - x.mean()).sum())
