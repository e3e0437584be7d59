"""Feedback to a model about a period's questions before it rewrites what to remember. AMemGym's self-evolution."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

FeedbackKind = Literal["questions", "complete"]
"""questions: what was asked. complete: also the options, the own answer, and the memories that were shown."""
Further = Literal["answers", "states"]
"""answers: the right ones. states: the values that the period's sessions exposed."""


@dataclass(frozen=True)
class Reviewed:
    """One of the user's questions after a period."""

    question: str
    asked: str  # the question with its numbered options
    answer: str  # the assistant's
    right: int  # number of the right option, from 1


@dataclass(frozen=True)
class Review:
    """A period's questions, and the values that its sessions exposed."""

    questions: Sequence[Reviewed]
    exposed: Mapping[str, str]


@runtime_checkable
class Evolving(Protocol):
    """An assistant that changes its ways after a period."""

    def evolve(self, review: Review) -> None:
        """Take a period's review."""


def feedback(
    review: Review, kind: FeedbackKind, further: Sequence[Further], known: Callable[[str], str],
) -> str:
    """Return a period's feedback as JSON. `known` gives the memories that a question was answered with."""
    questions = [_one(one, kind, "answers" in further, known) for one in review.questions]
    states = {"states": dict(review.exposed)} if "states" in further else {}
    return json.dumps({"questions": questions, **states}, ensure_ascii=False, indent=1)


def _one(one: Reviewed, kind: FeedbackKind, answers: bool, known: Callable[[str], str]) -> dict[str, Any]:
    whole = {"options": one.asked, "answer": one.answer, "memories": known(one.asked)} if kind == "complete" else {}
    return {"question": one.question, **whole, **({"right": one.right} if answers else {})}
