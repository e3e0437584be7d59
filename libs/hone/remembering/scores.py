"""Memory of an assistant in numbers: the memory score, and why questions failed. AMemGym, arXiv 2603.01966."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

Cause = Literal["write", "read", "utilization"]
"""Why a question failed: a value was never known, was lost later, or was known and not used."""
CAUSES: tuple[Cause, ...] = ("write", "read", "utilization")
Known = Mapping[str, bool]
"""Whether a diagnosis found the value of each variable after a period, K[t, s]."""


@dataclass(frozen=True)
class PeriodResult:
    """Result of probes after a period: an entry for each question, and whether each variable was known."""

    period: int
    right: tuple[bool, ...]
    random: tuple[float, ...]  # chance of a random option to be right
    upper: tuple[float, ...]  # score of the same model that reads the values that the question needs
    known: Known
    causes: tuple[Cause | None, ...]  # None: the question was answered right, by luck too
    json_errors: int = 0  # answers that could not be read, for which a random option counts

    @property
    def accuracy(self) -> float:
        """Share of questions answered right."""
        return fmean(self.right)

    @property
    def memory_score(self) -> float | None:
        """MS of the period; None where upper bound and random baseline are equal."""
        return memory_score(self.accuracy, fmean(self.random), fmean(self.upper))


@dataclass(frozen=True)
class MemoryReport:
    """Means over all periods of all users. Accuracy and the three rates add up to 1."""

    memory_score: float | None  # None: every period was left out
    left_out: int  # periods without a memory score
    accuracy: float
    write: float
    read: float
    utilization: float
    random: float
    upper: float
    json_errors: int
    curve: Mapping[int, float]  # mean memory score by period
    known: Mapping[str, tuple[int, int]]  # by variable: how often it was known, of how many diagnoses


def memory_score(accuracy: float, random: float, upper: float) -> float | None:
    """Return (accuracy - random) / (upper - random), not clipped; None where upper and random are equal."""
    return None if upper == random else (accuracy - random) / (upper - random)


def last_exposed(exposed: Sequence[Collection[str]], period: int, name: str) -> int:
    """Return w(t, s), the last period up to this one that exposed a variable. Raises ValueError where none did."""
    for t in range(period, -1, -1):
        if name in exposed[t]:
            return t
    raise ValueError(f"{name}: found no period up to {period} that exposed it, expected the first one to expose all")


def cause(
    right: bool, needs: Sequence[str], known: Sequence[Known], exposed: Sequence[Collection[str]], period: int
) -> Cause | None:
    """Return why a question failed after a period, exactly one cause in the order utilization, write, read."""
    if right:
        return None
    unknown = [name for name in dict.fromkeys(needs) if not known[period][name]]
    if not unknown:
        return "utilization"
    written = [known[last_exposed(exposed, period, name)][name] for name in unknown]
    return "read" if all(written) else "write"


def report(results: Sequence[PeriodResult]) -> MemoryReport:
    """Return the means over periods, of one user or of several with as many questions. Raises ValueError for none."""
    if not results:
        raise ValueError("results: found none, expected those of at least one period")
    scores = [(one.period, score) for one in results if (score := one.memory_score) is not None]
    rates = {kind: fmean(found == kind for one in results for found in one.causes) for kind in CAUSES}
    names = dict.fromkeys(name for one in results for name in one.known)
    return MemoryReport(
        fmean(score for _, score in scores) if scores else None, len(results) - len(scores),
        fmean(right for one in results for right in one.right), rates["write"], rates["read"], rates["utilization"],
        fmean(one for period in results for one in period.random),
        fmean(one for period in results for one in period.upper), sum(one.json_errors for one in results),
        {t: fmean(score for period, score in scores if period == t) for t in sorted({period for period, _ in scores})},
        {name: (sum(one.known.get(name, False) for one in results), sum(name in one.known for one in results))
         for name in names})


def upper_bounds(found: Mapping[tuple[int, tuple[str, ...]], float], golden: Sequence[tuple[str, ...]]) -> list[float]:
    """Return the upper bound of each question for its golden values.

    The table is keyed by question and values: the released code keys by values alone, which mixes questions that share
    names of values. Raises KeyError for a pair that was not measured.
    """
    return [found[question, values] for question, values in enumerate(golden)]
