"""OpenAI's score_model: a model reads the answer and gives it a number."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from hone.graders.contract import Bounds, Grader, GraderParams, Needs, Result, Status, Tools
from hone.graders.judge_answers import ask, read_number, read_object
from hone.graders.judge_messages import Message, SamplingParams, answer_of, asked, evidence, is_opener
from hone.graders.questions import Question
from hone.graders.sample import Sample

_STEPS = """Answer with a JSON object of two fields. "steps": your reasons, a list of objects with the texts \
"description" and "conclusion". Then "result": {result}."""
_BRIEF = """Answer with a JSON object of one field. "result": {result}."""
_STEP: Mapping[str, Any] = {
    "type": "object", "properties": {"description": {"type": "string"}, "conclusion": {"type": "string"}},
    "required": ["description", "conclusion"], "additionalProperties": False}


class JudgedParams(GraderParams):
    """Question to a judge, in OpenAI's form, and its protection against being talked over."""

    model: str = Field(min_length=1, max_length=300, description="Name of a judge, or of a model of yours.")
    input: list[Message] = Field(
        min_length=1, max_length=64, description="Messages to the judge.",
        examples=[[{"role": "user", "content": "Is this polite? {{ sample.output_text }}"}]])
    sampling_params: SamplingParams = Field(
        default_factory=SamplingParams, description="How the judge answers.")
    fence: bool = Field(
        True, description="Whether {{ sample.output_text }} stands between marks that the policy cannot know.")
    reasons: bool = Field(
        True, description="Whether the judge says why before it decides. Without, it is faster, and often worse.")
    least_characters: int = Field(
        1, ge=0, le=1000, description="Letters and digits below which an answer is wrong, and no judge is asked.")

    def instructions(self, result: str) -> str:
        """Return how the judge is asked for its verdict, which is what `result` says."""
        return (_STEPS if self.reasons else _BRIEF).format(result=result)

    def question(self, messages: list[dict[str, Any]], result: Mapping[str, Any]) -> Question:
        """Return these messages as a question; the schema of the verdict is `result`."""
        steps = {"steps": {"type": "array", "items": _STEP}} if self.reasons else {}
        schema = {"type": "object", "properties": {**steps, "result": result}, "required": [*steps, "result"],
                  "additionalProperties": False}
        sampling = self.sampling_params
        return Question(
            self.model, messages, max_tokens=sampling.max_completions_tokens or 1024,
            temperature=sampling.temperature or 0.0, top_p=sampling.top_p or 1.0, seed=sampling.seed or 0,
            schema=schema, effort=sampling.reasoning_effort)


class ScoreModelParams(JudgedParams):
    """The fields of OpenAI's grader, and how the judge is kept from being talked over."""

    type: Literal["score_model"] = Field(description="Name of the grader.")
    range: list[float] = Field([0.0, 1.0], min_length=2, max_length=2, description="Smallest and largest score.")
    pass_threshold: float | None = Field(None, description="A field of OpenAI's evaluations. It changes no grade here.")

    @model_validator(mode="after")
    def _has_a_range(self) -> "ScoreModelParams":
        if not self.range[0] < self.range[1]:
            raise ValueError(f"range: found {self.range}, expected a smaller number and a larger one")
        return self


async def grade_sample(sample: Sample, params: ScoreModelParams, tools: Tools) -> Result:
    """Return the judge's number as the score. An answer that is an opener gets the smallest one, unasked.

    Raises NoAnswer, InvalidSpec, and JudgeFailed where the judge gives no number in the range.
    """
    low, high = params.range
    answer = answer_of(sample)
    if is_opener(answer, params.least_characters):
        return Result(Status.OK, low, extracted=answer, decided_by="opener", reasons=("the answer is an opener",))
    instructions = params.instructions(f"a number from {low:g} to {high:g}, your score")
    messages = asked(params.input, sample.item, answer, instructions, params.fence)
    reply = await ask(tools, params.question(messages, {"type": "number", "minimum": low, "maximum": high}))
    score = read_number(read_object(reply).get("result"), low, high, reply)
    return Result(Status.OK, score, extracted=answer, decided_by="judge", tokens={reply.model: reply.tokens},
                  evidence=(evidence(params.model, messages, reply.text, reply.model),))


def bounds(params: ScoreModelParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return the range."""
    return params.range[0], params.range[1]


GRADER = Grader(ScoreModelParams, grade_sample=grade_sample, bounds=bounds, needs=frozenset({Needs.JUDGE}),
                 limit_s=120.0)
