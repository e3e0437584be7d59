"""Effects of noise on a policy: rewards, pass^k, cost and stability of each type of noise beside the clean twins.

After AgentNoiseBench, arXiv 2602.11348. The stability of trajectories is Hone's definition: the paper's was not seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean
from typing import Any

CLEAN = ""
SIMILAR = 0.8
"""Edit similarity from which two sequences of tools count as alike."""
_EQUAL = 1e-9


@dataclass(frozen=True)
class Trial:
    """One sample of a task under one type of noise."""

    noise: str  # type; CLEAN: none
    task: str  # content hash: clean twins have the same
    score: float
    tokens: int = 0  # that the policy wrote
    turns: int = 0  # calls of the policy
    tools: tuple[str, ...] = ()  # that were called, in order
    injections: int = 0
    failed: int = 0  # results that stayed clean because a model wrote no fitting noise
    entropy: float | None = None  # mean of -log p over the tokens that the policy sampled, nats; None: it sampled none
    misled: bool = False  # the policy wrote a value that noise alone had named
    deviated: bool | None = None  # by a judge; None: it gave no verdict


@dataclass(frozen=True)
class Robustness:
    """The trials of one type of noise."""

    noise: str
    tasks: int
    trials: int
    reward: float  # mean over tasks of the mean over trials
    pass_hat: tuple[float, ...]  # pass^1, pass^2, … up to the fewest trials of a task
    tokens: float  # mean of a trial
    turns: float
    injections: float  # mean of a trial
    failed: int  # results of all trials that stayed clean because a model wrote no fitting noise
    drop: float | None = None  # of the mean reward, as a share of the clean twins'; None: these have none
    drop_of_tasks: float | None = None  # mean over tasks of the drop of each
    undefined: int = 0  # tasks whose clean twins score 0, so that nothing can drop
    stable: float | None = None  # share of trials whose tools are like those of the clean twins
    similar: float | None = None  # mean edit similarity of a trial's tools to those of the clean twins
    entropy: float | None = None  # mean of a trial
    misled: float = 0.0  # share of trials in which the policy wrote a value that noise alone had named
    judged: int = 0  # trials with a judge's verdict
    deviated: float | None = None  # share of these that deviate
    undeviated: float | None = None  # mean score of these, 0 for one that deviates


def pass_hat(successes: int, trials: int, k: int) -> float:
    """Return pass^k = C(c, k) / C(n, k): the chance that k of n trials, drawn without repeat, all succeed."""
    return comb(successes, k) / comb(trials, k)


def report(trials: Sequence[Trial], success: float = 1.0) -> list[Robustness]:
    """Return the clean trials and each type of noise, by name. `success` is the score from which a trial succeeds.

    Only tasks with clean twins count for drops and stability.
    """
    of = {noise: _by_task([one for one in trials if one.noise == noise])
          for noise in sorted({one.noise for one in trials})}
    return [_robustness(noise, by_task, of.get(CLEAN, {}), success) for noise, by_task in of.items()]


def _by_task(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    found = dict[str, list[Trial]]()
    for one in trials:
        found.setdefault(one.task, []).append(one)
    return found


def _robustness(
    noise: str, by_task: Mapping[str, Sequence[Trial]], clean: Mapping[str, Sequence[Trial]], success: float,
) -> Robustness:
    every = [one for of_task in by_task.values() for one in of_task]
    most = min(map(len, by_task.values()))
    counts = [(sum(one.score >= success - _EQUAL for one in of_task), len(of_task)) for of_task in by_task.values()]
    twins = {task: (of_task, clean[task]) for task, of_task in by_task.items() if noise != CLEAN and task in clean}
    drops = [1 - reward(noisy) / reward(of_clean) for noisy, of_clean in twins.values() if reward(of_clean) > _EQUAL]
    return Robustness(
        noise, len(by_task), len(every), fmean(map(reward, by_task.values())),
        tuple(fmean(pass_hat(c, n, k) for c, n in counts) for k in range(1, most + 1)),
        fmean(one.tokens for one in every), fmean(one.turns for one in every), fmean(one.injections for one in every),
        sum(one.failed for one in every),
        _drop([reward(noisy) for noisy, _ in twins.values()], [reward(of_clean) for _, of_clean in twins.values()]),
        fmean(drops) if drops else None, len(twins) - len(drops),
        fmean(_stable(noisy, of_clean) for noisy, of_clean in twins.values()) if twins else None,
        fmean(_similar(noisy, of_clean) for noisy, of_clean in twins.values()) if twins else None, **_diagnosis(every))


def _diagnosis(every: Sequence[Trial]) -> dict[str, Any]:
    """Return the figures that need no twins."""
    known = [one.entropy for one in every if one.entropy is not None]
    judged = [one for one in every if one.deviated is not None]
    return {
        "entropy": fmean(known) if known else None, "misled": fmean(one.misled for one in every),
        "judged": len(judged), "deviated": fmean(bool(one.deviated) for one in judged) if judged else None,
        "undeviated": fmean(0.0 if one.deviated else one.score for one in judged) if judged else None}


def reward(trials: Sequence[Trial]) -> float:
    """Return the mean score of trials."""
    return fmean(one.score for one in trials)


def _drop(noisy: Sequence[float], clean: Sequence[float]) -> float | None:
    """Return D = (clean - noisy) / clean of the means; None without a clean reward above 0."""
    before = fmean(clean) if clean else 0.0
    return 1 - fmean(noisy) / before if before > _EQUAL else None


def _stable(noisy: Sequence[Trial], clean: Sequence[Trial]) -> float:
    medoid = _medoid(clean)
    return fmean(similarity(one.tools, medoid) >= SIMILAR for one in noisy)


def _similar(noisy: Sequence[Trial], clean: Sequence[Trial]) -> float:
    medoid = _medoid(clean)
    return fmean(similarity(one.tools, medoid) for one in noisy)


def _medoid(clean: Sequence[Trial]) -> tuple[str, ...]:
    """Return the sequence of tools that is most like the others."""
    return max((one.tools for one in clean), key=lambda tools: sum(similarity(tools, one.tools) for one in clean))


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 - d / n, d the edit distance of two sequences and n the longer length; 1 for two empty ones."""
    longest = max(len(one), len(other))
    return 1 - _distance(one, other) / longest if longest else 1.0


def _distance(one: Sequence[str], other: Sequence[str]) -> int:
    last = list(range(len(other) + 1))
    for place, item in enumerate(one, 1):
        row = [place]
        for column, against in enumerate(other, 1):
            row.append(min(last[column] + 1, row[-1] + 1, last[column - 1] + (item != against)))
        last = row
    return last[-1]
