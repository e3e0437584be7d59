"""The two signals of exploration, and when it stops. MAP, arXiv 2605.13037; the formulas are a reconstruction."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from hone.environments.hashing import digest
from hone.harnesses.mapping.facts import Fact

Stop: TypeAlias = Literal["converged", "budget"]
_COUNTER = re.compile(
    r"\b(?:step|turn|move|score|turns left|moves left)s?\s*[:=]?\s*\d+(?:\s*(?:/|of)\s*\d+)?"
    r"|\b\d+\s+(?:steps?|turns?|moves?|points?)(?:\s+(?:left|remaining))?", re.IGNORECASE)


class Signal(NamedTuple):
    """Gains of a step of exploration, both in [0, 1]."""

    know: float  # r_know
    novelty: float  # r_nov

    def intrinsic(self, balance: float) -> float:
        """Return r_int = b r_know + (1 - b) r_nov."""
        return balance * self.know + (1 - balance) * self.novelty


def knowledge_increment(found: Set[object], known: Set[object]) -> float:
    """Return r_know = |F_t without F_<t| / max(1, |F_t|): 0 where nothing was found."""
    return len(found - known) / max(1, len(found))


def state_novelty(visits: int) -> float:
    """Return r_nov = n^(-1/2), of n visits, this one included."""
    return float(visits ** -0.5)


def state_key(text: str) -> str:
    """Return the hash of an observation in lower case, without counters of steps, turns or points."""
    return digest(" ".join(_COUNTER.sub(" ", text.casefold()).split()))


def means(signals: Sequence[Signal], window: int) -> Signal:
    """Return the means of both signals over the last `window` steps."""
    last = signals[-window:]
    return Signal(sum(one.know for one in last) / len(last), sum(one.novelty for one in last) / len(last))


def stop(
    signals: Sequence[Signal], budget: int, window: int, least_know: float, least_novelty: float
) -> Stop | None:
    """Return why exploration stops after these steps; None if it goes on.

    It converged where, from step `window` on, both means are at most their thresholds e_k and e_n: one alone does not
    stop it.
    """
    if len(signals) >= window:
        mean = means(signals, window)
        if mean.know <= least_know and mean.novelty <= least_novelty:
            return "converged"
    return "budget" if len(signals) >= budget else None


@dataclass
class Exploration:
    """Facts and states met so far, and the signals of the steps."""

    facts: dict[Fact, int] = field(default_factory=dict)  # each with the step at which it was seen first
    visits: Counter[str] = field(default_factory=Counter)
    signals: list[Signal] = field(default_factory=list)

    def saw(self, found: Iterable[Fact], state: str) -> Signal:
        """Add a step: the facts of its observation and the key of its state."""
        new = frozenset(found)
        self.visits[state] += 1
        signal = Signal(knowledge_increment(new, self.facts.keys()), state_novelty(self.visits[state]))
        self.signals.append(signal)
        for fact in sorted(new):
            self.facts.setdefault(fact, len(self.signals))
        return signal
