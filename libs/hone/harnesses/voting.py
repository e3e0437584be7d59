"""The vote of self-verify over a policy's own answers, arXiv 2602.07594. Its rule is a reconstruction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hone.environments.verdict_form import Label


@dataclass(frozen=True)
class Vote:
    """Result of a vote: its subject, the most frequent answer, and each answer's score, the first seen in front."""

    winner: str | None  # None: no answer was found
    majority: str | None
    scores: Mapping[str, float]


def voted(answers: Sequence[str | None], verdicts: Mapping[str, Sequence[Label | None]]) -> Vote:
    """score(a) = count(a) * the share of verdicts Yes on a. A verdict that could not be read (None) is No.

    Ties go to the answer with more votes, then to the one that was seen first. An answer of None has no vote. With
    equal verdicts on all answers, none of them 0, this is the vote of the majority.
    """
    counts = Counter(answer for answer in answers if answer is not None)
    scores = {answer: count * _share(verdicts.get(answer, ())) for answer, count in counts.items()}
    return Vote(max(scores, key=lambda one: (scores[one], counts[one]), default=None),
                max(counts, key=lambda one: counts[one], default=None), scores)


def _share(verdicts: Sequence[Label | None]) -> float:
    return sum(verdict == "Yes" for verdict in verdicts) / len(verdicts) if verdicts else 0.0
