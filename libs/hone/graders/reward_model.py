"""A reward model with a scalar head rates the answer; its number is normalised by frozen constants and clipped."""

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from hone.graders.contract import Bounds, Grader, GraderParams, Names, Needs, Result, Status, Tools
from hone.graders.judge_answers import ask, unreadable
from hone.graders.judge_messages import Message, answer_of, asked_plainly, evidence, texts
from hone.graders.questions import Rating
from hone.graders.sample import Sample


class RewardModelParams(GraderParams):
    """Choice of a reward model, its input, and the mapping of its number to a score."""

    type: Literal["reward_model"] = Field(description="Name of the grader.")
    model: str = Field(min_length=1, max_length=300, description="Name of a reward model of yours, or of a judge whose "
                       "protocol is pooling.")
    input: list[Message] = Field(min_length=2, max_length=64, description="The conversation, of texts. The last "
                                 "message is the assistant's, the answer that is rated.",
                                 examples=[[{"role": "user", "content": "{{ item.question }}"},
                                            {"role": "assistant", "content": "{{ sample.output_text }}"}]])
    mean: float = Field(0.0, description="Mean of the model's numbers. It stays as it is: measure it before the run.")
    std: float = Field(1.0, gt=0, description="Their standard deviation.")
    clip: float = Field(5.0, gt=0, description="Largest size of a score.")

    @field_validator("input")
    @classmethod
    def _ends_with_an_answer(cls, given: list[Message]) -> list[Message]:
        if given[-1].role != "assistant":
            raise ValueError("expected a last message of the assistant, the answer")
        if any(not isinstance(message.content, str) for message in given):
            raise ValueError("expected a text as the content of each message")
        if not any("sample." in text for text in texts(given[-1:])):
            raise ValueError("expected a last message with the answer, {{ sample.output_text }}")
        return given


async def grade_sample(sample: Sample, params: RewardModelParams, tools: Tools) -> Result:
    """score = min(clip, max(-clip, (rating - mean) / std)). The rating is a component.

    Raises NoAnswer, InvalidSpec, and JudgeFailed where the model gives no finite number.
    """
    answer = answer_of(sample)
    messages = asked_plainly(params.input, sample.item, answer)
    reply = await ask(tools, Rating(params.model, messages))
    rating = json.loads(reply.text)
    if not math.isfinite(rating):
        raise unreadable(reply, "expected a finite number")
    score = min(params.clip, max(-params.clip, (rating - params.mean) / params.std))
    return Result(Status.OK, score, {"rating": rating}, extracted=answer, decided_by="reward_model",
                  tokens={reply.model: reply.tokens},
                  evidence=(evidence(params.model, messages, reply.text, reply.model),))


def bounds(params: RewardModelParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return minus and plus the largest size."""
    return -params.clip, params.clip


def components(params: Any, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return the name of the model's own number."""
    return frozenset({"rating"})


GRADER = Grader(RewardModelParams, grade_sample=grade_sample, bounds=bounds, components=components,
                needs=frozenset({Needs.RATER}), limit_s=120.0)
