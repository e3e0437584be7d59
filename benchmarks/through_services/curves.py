"""Learning curves: how good a policy was after how many rollouts, over seeds. Pure."""

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

Series = Mapping[str, Sequence[tuple[int, float]]]
FIGURES = ("sampled", "greedy", "area")
"""Held-out accuracy of samples and of the likeliest answer at the end, and the mean of the first over the rollouts."""

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t at 97.5 %, by degrees of freedom from 1."""
_TOKENS, _ROWS, _COMPONENT = "completion/tokens", "trajectories", "eval/sampled/"
_NOISY, _OF_USER = re.compile(r"eval/noise/(\w+)"), "user_"
_SOURCE = re.compile(r"source/(.+)/eval/sampled")
GROUPS, ROLLOUTS = "groups with signal", "rollouts with signal"
"""Shares of a run's groups whose samples do not all have the same reward, and of its rollouts that teach something."""
REPETITION, IDENTITY = "repetition", "identity"
"""Components of the held-out samples of dialogues, at the end."""
FIRST_PASS = "first_pass"
"""Component of the held-out samples at a desk, at the end: the share with a full score."""
UNDER_NOISE = "under noise"
"""Held-out accuracy at the end where results of tools have noise, the mean over its types."""
UNDER_USER_NOISE = "under noisy users"
"""The mean of the same over the types of noise of users."""
HARMFUL = "harmful share"
"""Of the calls of skills in held-out samples, those that lowered the chance of success; 0 without a call."""


@dataclass(frozen=True)
class Point:
    """Held-out accuracy after a step; `rollouts` have been trained on until then."""

    step: int
    rollouts: int
    greedy: float
    sampled: float


@dataclass(frozen=True)
class Band:
    """A figure over seeds at one place of the curve."""

    rollouts: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Spread:
    """A figure over seeds: its mean, its smallest and its largest value."""

    mean: float
    low: float
    high: float


Curve = Sequence[Point]


def curve(series: Series, calls: int = 1) -> list[Point]:
    """Return the curve of a run from its metrics. Raises ValueError where it evaluated or trained nothing.

    The rollouts of a step are its tokens divided by the mean number of tokens of one; a step's kind of task stands
    before the names, as in verify/completion/tokens. A sample of several trained `calls` counts as so many rollouts.
    A run that imitates has no rollouts: its rows are counted.
    """
    kinds = [name.removesuffix(_TOKENS) for name in series if name.endswith(_TOKENS)]
    if not series.get("eval/greedy") or not (kinds or _ROWS in series):
        raise ValueError(f"metrics: found {', '.join(sorted(series))}, expected eval/greedy and {_TOKENS} or {_ROWS}")
    trained = dict(sorted(step for kind in kinds for step in _rollouts(series, kind))) or {
        step: round(rows) for step, rows in series[_ROWS]}
    until = dict(zip([0, *trained], accumulate(trained.values(), initial=0), strict=True))
    sampled = dict(series["eval/sampled"])
    return [Point(step, until[step] * calls, greedy, sampled[step]) for step, greedy in series["eval/greedy"]]


def components(series: Series) -> dict[str, tuple[float, float]]:
    """Return what each component of the grades of sampled answers was before and after the run."""
    return {name.removeprefix(_COMPONENT): (points[0][1], points[-1][1]) for name, points in sorted(series.items())
            if name.startswith(_COMPONENT) and "/" not in name.removeprefix(_COMPONENT)}


def further(series: Series) -> dict[str, float]:
    """Return what else a run reached: the score of each source of a mixture at its end, and GROUPS and ROLLOUTS."""
    found = {of[1]: points[-1][1] for name, points in sorted(series.items()) if (of := _SOURCE.fullmatch(name))}
    if "advantage/groups" in series and "advantage/zero_variance_groups" in series:
        flat, groups = _total(series, "advantage/zero_variance_groups"), _total(series, "advantage/groups")
        found[GROUPS] = 1 - flat / groups
    for name in (REPETITION, IDENTITY, FIRST_PASS):
        if f"{_COMPONENT}{name}" in series:
            found[name] = series[f"{_COMPONENT}{name}"][-1][1]
    found |= _under_noise(series)
    if harmful := series.get(f"{_COMPONENT}harmful"):
        calls = series[f"{_COMPONENT}calls"][-1][1]
        found[HARMFUL] = harmful[-1][1] / calls if calls else 0.0
    if "advantage/zero_share" in series:
        found[ROLLOUTS] = 1 - statistics.fmean(value for _, value in series["advantage/zero_share"])
    return found


def _under_noise(series: Series) -> dict[str, float]:
    """Return the held-out accuracy at the end under each type of noise, and the means over those of tools and of users.
    """
    noisy = {of[1]: points[-1][1] for name, points in sorted(series.items()) if (of := _NOISY.fullmatch(name))}
    users = [score for kind, score in noisy.items() if kind.startswith(_OF_USER)]
    tools = [score for kind, score in noisy.items() if not kind.startswith(_OF_USER)]
    return {**noisy, **({UNDER_NOISE: statistics.fmean(tools)} if tools else {}),
            **({UNDER_USER_NOISE: statistics.fmean(users)} if users else {})}


def _total(series: Series, name: str) -> float:
    return sum(value for _, value in series[name])


def _rollouts(series: Series, kind: str) -> Iterator[tuple[int, int]]:
    lengths = dict(series[f"{kind}completion/mean_tokens"])
    return ((step, round(tokens / lengths[step])) for step, tokens in series[f"{kind}{_TOKENS}"])


def budget(arms: Mapping[str, Sequence[Curve]]) -> int:
    """Return how many rollouts every run of every arm has."""
    return min(run[-1].rollouts for runs in arms.values() for run in runs)


def figures(run: Curve, rollouts: int) -> dict[str, float]:
    """Return FIGURES of a run at `rollouts` of its rollouts."""
    cut = [*(point for point in run if point.rollouts < rollouts), _at(run, rollouts)]
    area = sum((after.rollouts - before.rollouts) * (after.sampled + before.sampled) / 2
               for before, after in pairwise(cut))
    return {"sampled": cut[-1].sampled, "greedy": cut[-1].greedy, "area": area / rollouts}


def _at(run: Curve, rollouts: int) -> Point:
    """Return the point at a number of rollouts, between two evaluations on the line that joins them."""
    for before, after in pairwise(run):
        if before.rollouts <= rollouts <= after.rollouts:
            share = (rollouts - before.rollouts) / (after.rollouts - before.rollouts)
            return Point(after.step, rollouts, before.greedy + share * (after.greedy - before.greedy),
                         before.sampled + share * (after.sampled - before.sampled))
    raise ValueError(f"rollouts: found {rollouts}, expected one from {run[0].rollouts} to {run[-1].rollouts}")


def spread(values: Sequence[float]) -> Spread:
    """Return mean, smallest and largest of one value a seed."""
    return Spread(statistics.fmean(values), min(values), max(values))


def bands(runs: Sequence[Curve], figure: str) -> list[Band]:
    """Return the mean and the band of `greedy` or `sampled` at each evaluation that all runs have."""
    found = []
    for points in zip(*runs, strict=False):
        over = spread([getattr(point, figure) for point in points])
        found.append(Band(statistics.fmean(point.rollouts for point in points), over.mean, over.low, over.high))
    return found


def interval(differences: Sequence[float]) -> float | None:
    """Return the half-width of the 95 % interval of the mean of paired differences, by Student's t; None for one seed.
    """
    if len(differences) < 2:
        return None
    freedom = len(differences) - 1
    return _T[min(freedom, len(_T)) - 1] * statistics.stdev(differences) / math.sqrt(len(differences))


def verdict(differences: Sequence[float]) -> str:
    """Say whether a direction held, from one difference a seed, paired: only what the interval excludes 0 for."""
    mean, width = statistics.fmean(differences), interval(differences)
    if width is None:
        return "one seed says nothing"
    if abs(mean) <= width:
        return "no difference beyond that of seeds"
    return "held" if mean > 0 else "the opposite"
