"""A judge compares the answers of a group in pairs, after NeMo Gym's pairwise reward; each pair in both orders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, Needs, NoAnswer, Result, Status, Tools, failure, no_answer
from hone.graders.error_kinds import ErrorKind
from hone.graders.judge_answers import read_number, read_object
from hone.graders.judge_messages import Message, SamplingParams, answer_of, asked, evidence, is_opener
from hone.graders.questions import JudgeFailed, Question, Reply
from hone.graders.sample import Reads, Sample
from hone.graders.templates import Template

LOW, HIGH, EVEN = 1.0, 5.0, 3.5
"""Smallest and largest score of an answer in a pair, and the ranking, from 1 to 6, of two that are equal."""
_TASK = "You compare two answers to a task. Judge them by what they say, not by their length or order."
_FORM = """Answer with a JSON object. "reasons": some sentences. Then "score_1" and "score_2": how good each answer \
is, whole numbers from 1 to 5. Then "ranking": a whole number from 1, the first answer is much better, to 6, the \
second is."""
_SCORE = {"type": "integer", "minimum": 1, "maximum": 5}
_SCHEMA: Mapping[str, Any] = {
    "type": "object", "properties": {
        "reasons": {"type": "string"}, "score_1": _SCORE, "score_2": _SCORE,
        "ranking": {"type": "integer", "minimum": 1, "maximum": 6}},
    "required": ["reasons", "score_1", "score_2", "ranking"], "additionalProperties": False}


class PairwiseParams(GraderParams):
    """The judge, what it is shown, and which pairs it compares."""

    type: Literal["pairwise"] = Field(description="Name of the grader.")
    model: str = Field(min_length=1, max_length=300, description="Name of a judge, or of a model of yours.")
    task: Template = Field(min_length=1, description="The question as the judge sees it: {{ item.question }}.")
    pairs: Literal["circular", "all"] = Field(
        "circular", description="circular: each answer with the next, n pairs; all: every pair of answers.")
    swapped: bool = Field(True, description="Whether each pair is compared in both orders.")
    attempts: int = Field(
        3, ge=1, le=10, description="Questions, each with another seed, until the verdict on a pair can be read.")
    least_characters: int = Field(
        3, ge=0, le=1000, description="Letters and digits below which an answer scores 0, and is compared with none.")
    sampling_params: SamplingParams = Field(default_factory=SamplingParams, description="How the judge answers.")


@dataclass(frozen=True)
class Duel:
    """Two places of the group whose answers are compared, and what came of it."""

    first: int
    second: int
    question: Question
    reply: Reply | None = None
    scores: tuple[float, float] | None = None  # None: no verdict could be read


async def grade_group(samples: Sequence[Sample], params: PairwiseParams, tools: Tools) -> list[Result]:
    """Return for each sample (m - 1) / 4, where m is its mean score over its pairs, kept in [1, 5].

    An answer without a verdict has no score, also because the group has no other one to compare it with.
    """
    refused, answers = dict[int, Result](), dict[int, str]()
    for place, sample in enumerate(samples):
        try:
            answers[place] = answer_of(sample)
        except NoAnswer as error:
            refused[place] = no_answer(str(error))
        else:
            if is_opener(answers[place], params.least_characters):
                opener = answers.pop(place)
                refused[place] = Result(Status.OK, 0.0, extracted=opener, decided_by="opener")
    duels = [Duel(first, second, _question(samples[first], answers[first], answers[second], params))
             for first, second in pairs(list(answers), params)]
    fought = await _fought(duels, params.attempts, tools)
    return [refused[place] if place in refused else _result(place, answers[place], fought)
            for place in range(len(samples))]


def pairs(places: Sequence[int], params: PairwiseParams) -> Iterator[tuple[int, int]]:
    """Yield the pairs that are compared, in each order that is asked."""
    several = combinations(places, 2) if params.pairs == "all" or len(places) < 3 else zip(
        places, [*places[1:], places[0]], strict=True)
    for first, second in several:
        yield first, second
        if params.swapped:
            yield second, first


def scores(first: float, second: float, ranking: float) -> tuple[float, float]:
    """Return the scores of a pair. Of equal ones the ranking decides: by 3.5 - ranking for the first."""
    return (first + EVEN - ranking, second + ranking - EVEN) if first == second else (first, second)


def _question(sample: Sample, first: str, second: str, params: PairwiseParams) -> Question:
    """Return the question about two answers. Each of them stands between marks of its own."""
    task, one, other = (Message(role="user", content=text) for text in (
        f"The task:\n{params.task}", "The first answer:\n{{ sample.output_text }}",
        "The second answer:\n{{ sample.output_text }}"))
    opening = asked([Message(role="system", content=_TASK), task, one], sample.item, first, _FORM, fence=True)
    closing = asked([other], sample.item, second, "The second answer stands between marks of its own.", fence=True)
    system, shown = opening[0]["content"] + "\n\n" + closing[0]["content"], [*opening[1:], closing[1]]
    messages = [{"role": "system", "content": system},
                {"role": "user", "content": "\n\n".join(message["content"] for message in shown)}]
    sampling = params.sampling_params
    return Question(
        params.model, messages, sampling.max_completions_tokens or 1024, sampling.temperature or 0.0,
        sampling.top_p or 1.0, sampling.seed or 0, _SCHEMA, sampling.reasoning_effort)


async def _fought(duels: Sequence[Duel], attempts: int, tools: Tools) -> list[Duel]:
    """Ask about all pairs; again, with another seed, about those whose verdict cannot be read."""
    fought = list(duels)
    for _ in range(attempts):
        open_ones = [place for place, duel in enumerate(fought) if duel.scores is None]
        for place, reply in zip(open_ones, await tools.asked([fought[one].question for one in open_ones]), strict=True):
            fought[place] = _after(fought[place], reply)
    return fought


def _after(duel: Duel, reply: Reply | JudgeFailed) -> Duel:
    again = replace(duel.question, seed=duel.question.seed + 1)
    if isinstance(reply, JudgeFailed):
        return replace(duel, question=again)
    try:
        found = read_object(reply)
        read = [read_number(found.get(name), low, high, reply) for name, low, high in (
            ("score_1", LOW, HIGH), ("score_2", LOW, HIGH), ("ranking", 1.0, 6.0))]
    except JudgeFailed:
        return replace(duel, question=again, reply=reply)
    return replace(duel, reply=reply, scores=scores(*read))


def _result(place: int, answer: str, duels: Sequence[Duel]) -> Result:
    own = [duel for duel in duels if place in (duel.first, duel.second)]
    given = [duel.scores[duel.second == place] for duel in own if duel.scores is not None]
    if not own:
        return failure(Status.INVALID_SPEC, "the group has no other answer to compare this answer with")
    if not given:
        return failure(Status.JUDGE_ERROR, f"{ErrorKind.MODEL_PARSE}: no verdict on a pair could be read")
    mean = min(HIGH, max(LOW, fmean(given)))
    first = [duel for duel in own if duel.first == place and duel.reply]  # each question is counted once
    tokens = {duel.reply.model: sum(one.reply.tokens for one in first if one.reply) for duel in first if duel.reply}
    shown = tuple(evidence(duel.question.judge, duel.question.messages, duel.reply.text, duel.reply.model)
                  for duel in first if duel.reply)
    return Result(Status.OK, (mean - LOW) / (HIGH - LOW), {"pairs": len(given) / len(own)}, extracted=answer,
                  decided_by="judge", tokens=tokens, evidence=shown)


GRADER = Grader(PairwiseParams, grade_group=grade_group, reads=frozenset({Reads.GROUP}), reads_output=False,
                components=lambda _params, _inner: frozenset({"pairs"}), needs=frozenset({Needs.JUDGE}), limit_s=240.0)
