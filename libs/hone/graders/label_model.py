"""OpenAI's label_model: a model reads the answer and gives it one of several labels."""

from typing import Literal

from pydantic import Field, model_validator

from hone.graders.contract import Grader, Needs, Result, Status, Tools
from hone.graders.judge_answers import ask, read_choice, read_object
from hone.graders.judge_messages import answer_of, asked, evidence, is_opener
from hone.graders.sample import Sample
from hone.graders.score_model import JudgedParams


class LabelModelParams(JudgedParams):
    """The fields of OpenAI's grader, and how the judge is kept from being talked over."""

    type: Literal["label_model"] = Field(description="Name of the grader.")
    labels: list[str] = Field(min_length=2, max_length=64, description="Labels that the judge chooses from.",
                              examples=[["polite", "rude"]])
    passing_labels: list[str] = Field(min_length=1, max_length=64, description="Labels that score 1.",
                                      examples=[["polite"]])

    @model_validator(mode="after")
    def _pass_by_known_labels(self) -> "LabelModelParams":
        if len(set(self.labels)) < len(self.labels) or not all(self.labels):
            raise ValueError(f"labels: found {self.labels}, expected different texts")
        if unknown := sorted(set(self.passing_labels) - set(self.labels)):
            raise ValueError(f"passing_labels: found {', '.join(unknown)}, expected labels that are in labels")
        return self


async def grade_sample(sample: Sample, params: LabelModelParams, tools: Tools) -> Result:
    """Score 1 where the judge's label passes, else 0. An answer that is an opener scores 0, unasked.

    Raises NoAnswer, InvalidSpec, and JudgeFailed where the judge gives no label.
    """
    answer = answer_of(sample)
    if is_opener(answer, params.least_characters):
        return Result(Status.OK, 0.0, extracted=answer, decided_by="opener", reasons=("the answer is an opener",))
    instructions = params.instructions(f"one of these labels, letter by letter: {', '.join(params.labels)}")
    messages = asked(params.input, sample.item, answer, instructions, params.fence)
    reply = await ask(tools, params.question(messages, {"type": "string", "enum": params.labels}))
    label = read_choice(read_object(reply).get("result"), params.labels, reply)
    return Result(Status.OK, float(label in params.passing_labels), extracted=answer, decided_by="judge",
                  reasons=(f"label: {label}",), tokens={reply.model: reply.tokens},
                  evidence=(evidence(params.model, messages, reply.text, reply.model),))


GRADER = Grader(LabelModelParams, grade_sample=grade_sample, needs=frozenset({Needs.JUDGE}), limit_s=120.0)
