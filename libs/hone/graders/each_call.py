"""Another grader on the text of every call: each call gets a turn score of its own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal

from pydantic import Field, model_validator

from hone.graders.contract import (
    Bounds,
    Grader,
    GraderParams,
    InvalidSpec,
    Names,
    NoAnswer,
    Result,
    Status,
    Tools,
    all_names,
    own_names,
    with_costs,
)
from hone.graders.sample import Reads, Sample, Spoken

SCORE = "score"
"""Name of the turn scores."""


class EachCallParams(GraderParams):
    """The grader of a call, and which calls count."""

    type: Literal["each_call"] = Field(description="Name of the grader.")
    grader: dict[str, Any] = Field(description="JSON of the grader that reads each call's text as an output.")
    kinds: list[str] | None = Field(
        None, min_length=1, description="Kinds of calls that are graded; null: all calls of the policy.")
    decide: list[str] | None = Field(
        None, min_length=1, description="Kinds of graded calls whose scores are the sample's; null: all graded kinds.")
    join: Literal["mean", "best", "last"] = Field("mean", description="How they become the sample's score.")

    @property
    def asked_kinds(self) -> Mapping[str, Sequence[str]]:
        return {"kinds": self.kinds or (), "decide": self.decide or ()}

    @model_validator(mode="after")
    def _decides_by_what_it_grades(self) -> "EachCallParams":
        if self.kinds is not None and set(self.decide or ()) - set(self.kinds):
            raise ValueError("expected kinds in decide that are in kinds, too")
        return self


def inner(params: EachCallParams) -> dict[str, dict[str, Any]]:
    """Return the grader of a call."""
    return {"grader": params.grader}


async def grade_sample(sample: Sample, params: EachCallParams, tools: Tools) -> Result:
    """Grade every call; how each kind did is a component. There is no score where a call has none.

    Raises InvalidSpec without a conversation, and NoAnswer where no call decides.
    """
    if sample.conversation is None:
        raise InvalidSpec("found no conversation, expected the calls of a sample")
    calls = [call for call in sample.conversation.policy if params.kinds is None or call.kind in params.kinds]
    results = await tools.graded([
        ("grader", replace(sample, output=call.text, truncated=call.truncated)) for call in calls])
    for call, result in zip(calls, results, strict=True):
        if result.score is None:
            return with_costs(Result(result.status, None, decided_by="each_call", reasons=(
                f"call {call.number}: {'; '.join(result.reasons)}",)), results)
    return with_costs(_joined(calls, results, params), results)


def _joined(calls: Sequence[Spoken], results: Sequence[Result], params: EachCallParams) -> Result:
    scores = [result.score or 0.0 for result in results]
    deciding = [place for place, call in enumerate(calls) if params.decide is None or call.kind in params.decide]
    if not deciding:
        raise NoAnswer("no call is of a kind that decides")
    return Result(
        Status.OK, _score([scores[place] for place in deciding], params.join), _components(calls, results),
        extracted=results[deciding[-1]].extracted, decided_by="each_call",
        turns={call.number: {SCORE: score} for call, score in zip(calls, scores, strict=True)},
        steps=tuple(replace(step, call=step.call or call.number)
                    for call, result in zip(calls, results, strict=True) for step in result.steps))


def _components(calls: Sequence[Spoken], results: Sequence[Result]) -> dict[str, float]:
    """Return how the calls of each kind did: their mean score, the best one, and the score of the plurality's answer.
    """
    found = dict[str, float]()
    for kind in sorted({call.kind for call in calls}):
        own = [result for call, result in zip(calls, results, strict=True) if call.kind == kind]
        scores, answers = [result.score or 0.0 for result in own], [result.extracted for result in own]
        found |= {kind: fmean(scores), f"{kind}.best": max(scores), f"{kind}.vote": vote(answers, scores)}
    return found


def vote(answers: Sequence[str | None], scores: Sequence[float]) -> float:
    """Return the score of the most frequent answer, the mean over ties; 0 without an answer (HeavySkill's V@K).

    None: no answer was found, and it has no vote.
    """
    votes = Counter(answer for answer in answers if answer is not None)
    if not votes:
        return 0.0
    score = dict(zip(answers, scores, strict=True))
    return fmean(score[answer] for answer, count in votes.items() if count == max(votes.values()))


def _score(scores: Sequence[float], join: str) -> float:
    return scores[-1] if join == "last" else max(scores) if join == "best" else fmean(scores)


def components(params: EachCallParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return those of the kinds that are graded, where the params name them."""
    return frozenset(f"{kind}{what}" for kind in params.kinds or () for what in ("", ".best", ".vote"))


def bounds(params: EachCallParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return those of the grader of a call."""
    return of_inner["grader"]


GRADER = Grader(EachCallParams, grade_sample=grade_sample, reads=frozenset({Reads.CONVERSATION}), reads_output=False,
                bounds=bounds, inner=inner, components=components, turn_scores=own_names(SCORE),
                step_scores=all_names)
