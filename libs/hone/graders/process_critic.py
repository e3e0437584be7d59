"""A judge scores the steps of an answer, and their score gates the reward: V-tableR1's critic, arXiv 2604.20755.

The gate's form, the format reward and how steps are found are a reconstruction.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pydantic import Field

from hone.graders.contract import (
    Bounds,
    Grader,
    GraderParams,
    Needs,
    Result,
    Scored,
    Status,
    Tools,
    own_names,
    with_costs,
)
from hone.graders.judge_answers import ask, read_number, read_object, unreadable
from hone.graders.judge_messages import Message, SamplingParams, asked, evidence
from hone.graders.process_gate import Gate, process_score
from hone.graders.questions import Question, Reply
from hone.graders.sample import Sample
from hone.graders.templates import Template

STEP, MOST = "step", 64
"""Name of the steps' scores, and most steps of an answer that are read."""
_BREAK = {"lines": re.compile(r"\n"), "paragraphs": re.compile(r"\n[ \t]*\n")}
_TASK = """You check the steps of a chain of reasoning. Score each step from 0 to 1. 1: it follows from the task and \
the steps before it, and what it reads or computes is right. 0: it is wrong, or reads what is not there. A step that \
names a result without showing where it comes from scores at most 0.3, also where the result is right."""
_FORM = 'Answer with a JSON object of one field. "scores": one number for each step, in their order.'


class ReadStep(NamedTuple):
    """A step, and its characters in the text from `start` to before `end`."""

    text: str
    start: int
    end: int


class ProcessCriticParams(GraderParams):
    """The judge, the grader of the answer, and how the steps' scores gate the reward."""

    type: Literal["process_critic"] = Field(description="Name of the grader.")
    model: str = Field(min_length=1, max_length=300, description="Name of a judge, or of a model of yours.")
    task: Template = Field(min_length=1, description="The task, with everything that steps refer to.")
    grader: dict[str, Any] = Field(description="JSON of the grader that says whether the answer is right.")
    right: float = Field(1.0, description="Answers with at least this score are right.")
    steps: Literal["lines", "paragraphs"] = Field(
        "lines", description="Form of a step: a line, or lines up to an empty line.")
    least: int = Field(1, ge=1, le=MOST, description="Steps below which an output breaks the format.")
    gate: Gate = Field(default_factory=Gate, description="How the score of the process gates the reward.")
    sampling_params: SamplingParams = Field(default_factory=SamplingParams, description="How the judge answers.")


def inner(params: ProcessCriticParams) -> dict[str, dict[str, Any]]:
    """Return the grader of the answer."""
    return {"grader": params.grader}


async def grade_sample(sample: Sample, params: ProcessCriticParams, tools: Tools) -> Result:
    """Score R of the gate, from R_acc, R_fmt and T. Each step has its score s_j.

    R_acc = 1 for a right answer. R_fmt = 1 where the output is not cut off and has enough steps. T reduces the s_j; it
    is 0 without steps. The judge is not asked where the rules give nothing for the process to gate. Raises JudgeFailed.
    """
    [answer] = await tools.graded([("grader", sample)])
    if answer.score is None:
        return answer
    parts = list(parts_of(sample.output, params.steps))[:MOST]
    accuracy = float(answer.score >= params.right)
    form = float(not sample.truncated and len(parts) >= params.least)
    judged = bool(parts) and (params.gate.mode == "additive" or bool(accuracy or form))
    scores, costs = await _criticised(sample, parts, params, tools) if judged else ([], [])
    process = process_score(scores, params.gate.reduction)
    whole = Result(
        Status.OK if accuracy or answer.status is not Status.NO_ANSWER else Status.NO_ANSWER,
        params.gate.reward(accuracy, form, process), {"accuracy": accuracy, "format": form, "process": process},
        extracted=answer.extracted, decided_by="process_critic", reasons=answer.reasons,
        steps=tuple(Scored("", part.start, part.end, STEP, score) for part, score in zip(parts, scores, strict=False)))
    return with_costs(whole, [answer, *costs])


def parts_of(text: str, kind: str) -> Iterator[ReadStep]:
    """Yield the steps of an output, without blanks around them."""
    ends = [(0, 0), *(found.span() for found in _BREAK[kind].finditer(text)), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(ends):
        inside = text[start:end]
        if inside.strip():
            first = start + len(inside) - len(inside.lstrip())
            yield ReadStep(inside.strip(), first, first + len(inside.strip()))


async def _criticised(
    sample: Sample, parts: Sequence[ReadStep], params: ProcessCriticParams, tools: Tools
) -> tuple[list[float], list[Result]]:
    """Return the score of each step, and what they cost. Raises JudgeFailed."""
    numbered = "\n".join(f"{place}. {part.text}" for place, part in enumerate(parts, 1))
    said = [Message(role="system", content=_TASK),
            Message(role="user", content=["The task:", params.task, "", "The steps:", "{{ sample.output_text }}"])]
    messages = asked(said, sample.item, numbered, _FORM, fence=True)
    sampling = params.sampling_params
    reply = await ask(tools, Question(
        params.model, messages, sampling.max_completions_tokens or 1024, sampling.temperature or 0.0,
        sampling.top_p or 1.0, sampling.seed or 0, _schema(len(parts)), sampling.reasoning_effort))
    shown = evidence(params.model, messages, reply.text, reply.model)
    return _scores(reply, len(parts)), [
        Result(Status.OK, 0.0, tokens={reply.model: reply.tokens}, evidence=(shown,))]


def _schema(count: int) -> dict[str, Any]:
    score = {"type": "number", "minimum": 0, "maximum": 1}
    return {"type": "object", "properties": {
        "scores": {"type": "array", "items": score, "minItems": count, "maxItems": count}}, "required": ["scores"],
        "additionalProperties": False}


def _scores(reply: Reply, count: int) -> list[float]:
    found = read_object(reply).get("scores")
    if not isinstance(found, list) or len(found) != count:
        raise unreadable(reply, f"expected {count} scores, as many as steps")
    return [read_number(one, 0.0, 1.0, reply) for one in found]


def bounds(params: ProcessCriticParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return 0 and the reward of a right answer whose steps are all right."""
    return 0.0, params.gate.most


GRADER = Grader(ProcessCriticParams, grade_sample=grade_sample, inner=inner, bounds=bounds, reads_output=False,
                needs=frozenset({Needs.JUDGE}), limit_s=120.0,
                components=own_names("accuracy", "format", "process"), step_scores=own_names(STEP))
