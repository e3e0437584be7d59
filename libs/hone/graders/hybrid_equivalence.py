"""Short answers by rules first, and by a judge where no rule can tell: General365's cascade, arXiv 2604.11778.

The judge's words are Hone's: the paper's are not public.
"""

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from hone.graders.answers import box
from hone.graders.contract import Grader, GraderParams, Mark, Needs, Result, Status, Tools
from hone.graders.judge_answers import ask, read_object, unreadable
from hone.graders.judge_messages import Content, Message, SamplingParams, asked, evidence, is_opener
from hone.graders.questions import Question
from hone.graders.sample import Sample
from hone.graders.short_answer import UNDECIDED
from hone.graders.templates import Template

_TASK = """You are shown a question, its reference answer, and a model's answer. Say whether the model's answer agrees \
with the reference. The reference is right: do not question it. Wording, order of words and format do not matter. All \
essential information of the reference must be there, and nothing that contradicts it. Where the reference lists \
several possibilities, the answer must give all of them and no others."""
_FORM = 'Answer with a JSON object of one field: {"accuracy": true} or {"accuracy": false}.'
_SCHEMA = {"type": "object", "properties": {"accuracy": {"type": "boolean"}}, "required": ["accuracy"],
           "additionalProperties": False}


class HybridParams(GraderParams):
    """The reference with its type, and the judge."""

    type: Literal["hybrid_equivalence"] = Field(description="Name of the grader.")
    model: str = Field(min_length=1, max_length=300, description="Name of a judge, or of a model of yours.")
    question: Template = Field("{{ item.question }}", description="The question, as the judge sees it.")
    reference: Template = Field("{{ item.answer }}", description="As of short_answer.")
    answer_type: Template = Field("auto", description="As of short_answer.")
    float_round: Template = Field("0", description="As of short_answer.")
    strict: bool = Field(
        True, description="Whether rules may say that an answer is wrong. False: the benchmark's own cascade, in which "
        "they only say what is right.")
    sampling_params: SamplingParams = Field(default_factory=SamplingParams, description="How the judge answers.")


def inner(params: HybridParams) -> dict[str, dict[str, Any]]:
    """Return the grader that decides by rules."""
    return {"rules": {"type": "short_answer", **params.model_dump(
        include={"reference", "answer_type", "float_round", "strict"})}}


async def grade_sample(sample: Sample, params: HybridParams, tools: Tools) -> Result:
    """Score 1 or 0, by the first that can tell: extraction, string, rule, judge. `decided_by` says which.

    Raises InvalidSpec, and JudgeFailed where the judge's answer cannot be read.
    """
    [ruled] = await tools.graded([("rules", sample)])
    if ruled.decided_by != UNDECIDED or ruled.extracted is None:
        return ruled if ruled.status is not Status.NO_ANSWER else replace(ruled, decided_by="extraction")
    if is_opener(ruled.extracted, 1):
        return Result(Status.OK, 0.0, extracted=ruled.extracted, decided_by="opener")
    said: Content = ["The question:", params.question, "", "The reference:", params.reference, "",
                     "The model's answer:", "{{ sample.output_text }}"]
    messages = asked([Message(role="system", content=_TASK), Message(role="user", content=said)], sample.item,
                     ruled.extracted, _FORM, fence=True)
    sampling = params.sampling_params
    reply = await ask(tools, Question(
        params.model, messages, sampling.max_completions_tokens or 64, sampling.temperature or 0.0,
        sampling.top_p or 1.0, sampling.seed or 0, _SCHEMA, sampling.reasoning_effort))
    right = read_object(reply).get("accuracy")
    if not isinstance(right, bool):
        raise unreadable(reply, "expected accuracy to be true or false")
    return Result(Status.OK, float(right), extracted=ruled.extracted, decided_by="judge",
                  tokens={reply.model: reply.tokens},
                  evidence=(evidence(params.model, messages, reply.text, reply.model),))


def marks(params: HybridParams) -> list[Mark]:  # noqa: ARG001 — one signature for every grader
    """Return the texts around an answer."""
    return [box(needed=False)]


GRADER = Grader(HybridParams, grade_sample=grade_sample, inner=inner, marks=marks, needs=frozenset({Needs.JUDGE}),
                limit_s=120.0)
