"""How well verdicts agree with labels, and what a judge's errors do to a rate: AJ-Bench, arXiv 2604.18240.

Positive is what is right. A verdict that is missing (invalid) is in no other count: no rate but its own holds it. The
rates of errors and the gap that they leave follow Hone's specification of verification.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

Verdict = bool | None
"""Whether a judge accepts an output; None: it gave no verdict."""


@dataclass(frozen=True)
class Agreement:
    """Counts of verdicts. A figure is None where nothing was counted that it is about."""

    tp: int = 0  # right, accepted
    fp: int = 0  # wrong, accepted
    fn: int = 0  # right, refused
    tn: int = 0  # wrong, refused
    invalid: int = 0  # no verdict

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn,
                         self.invalid + other.invalid)

    @property
    def total(self) -> int:
        """How many outputs there were."""
        return self.tp + self.fp + self.fn + self.tn + self.invalid

    @property
    def precision(self) -> float | None:
        """Share of right ones among those that were accepted."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """Share of accepted ones among those that are right."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall. A judge that accepts all of balanced labels has 2/3."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def false_accepts(self) -> float | None:
        """Share of accepted ones among those that are wrong: fp."""
        return _share(self.fp, self.fp + self.tn)

    @property
    def false_refusals(self) -> float | None:
        """Share of refused ones among those that are right: fn."""
        return _share(self.fn, self.fn + self.tp)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of the shares of right and of wrong ones that were judged as their label says."""
        return None if self.gap is None else (1 + self.gap) / 2

    @property
    def gap(self) -> float | None:
        """1 - fp - fn: what is left of the difference in expected reward between right and wrong."""
        fp, fn = self.false_accepts, self.false_refusals
        return None if fp is None or fn is None else 1 - fp - fn

    @property
    def no_verdict(self) -> float | None:
        """Share without a verdict."""
        return _share(self.invalid, self.total)

    def figures(self) -> dict[str, float | None]:
        """Return every figure by its name."""
        return {name: getattr(self, name) for name in FIGURES}


FIGURES = ("gap", "false_accepts", "false_refusals", "no_verdict", "f1", "precision", "recall", "balanced_accuracy")
"""Names of the figures, in the order in which people read them."""


def counted(labels: Iterable[bool], verdicts: Iterable[Verdict]) -> Agreement:
    """Return the counts of verdicts on outputs with these labels. Raises ValueError where one is longer."""
    pairs = list(zip(labels, verdicts, strict=True))

    def count(label: bool, verdict: bool) -> int:
        return sum(pair == (label, verdict) for pair in pairs)

    return Agreement(count(True, True), count(False, True), count(True, False), count(False, False),
                     sum(verdict is None for _, verdict in pairs))


def pooled(parts: Iterable[Agreement]) -> Agreement:
    """Return the counts of all parts together; figures of it are micro averages."""
    return sum(parts, Agreement())


def mean(figures: Iterable[float | None]) -> float | None:
    """Return the plain mean over sub-domains, without those that have no figure; None where none has one."""
    known = [figure for figure in figures if figure is not None]
    return fmean(known) if known else None


def observed_rate(true_rate: float, fp: float, fn: float) -> float:
    """Return the share that a judge accepts where `true_rate` of the outputs are right."""
    return true_rate * (1 - fn) + (1 - true_rate) * fp


def true_rate(observed: float, fp: float, fn: float) -> float:
    """Return the share that is right where a judge accepts `observed`; outside of 0 to 1 the errors are others.

    Raises ValueError where the judge's verdict says nothing: fp + fn is 1.
    """
    if fp + fn == 1:
        raise ValueError(f"fp + fn: found {fp:g} + {fn:g}, expected a sum other than 1")
    return (observed - fp) / (1 - fp - fn)


def majority(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of more than half of the given verdicts; None without such a majority."""
    given = [verdict for verdict in verdicts if verdict is not None]
    accepts = sum(given)
    return None if 2 * accepts == len(given) else 2 * accepts > len(given)


def majority_accuracy(accuracy: float, judges: int) -> float:
    """Return the accuracy of the majority of an odd number of independent judges. Raises ValueError for an even one."""
    if judges < 1 or judges % 2 == 0:
        raise ValueError(f"judges: found {judges}, expected an odd number")
    return sum(comb(judges, right) * accuracy**right * (1 - accuracy)**(judges - right)
               for right in range(judges // 2 + 1, judges + 1))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
