"""Calls with what a grader gave them: scores of turns, and of steps inside their texts as spans of their tokens."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from hone.api import reward_pb2
from hone.graders.sample import answering
from hone.text.model_text import ModelText
from hone.text.ranges import token_ranges
from hone.trajectory.records import Call, Span


def with_scores(calls: Sequence[Call], grade: reward_pb2.Grade, tokenizer: ModelText) -> list[Call]:
    """Return calls with what their grader gave them, and with the steps that it scored as spans of their tokens."""
    turns = {turn.call: dict(sorted(turn.scores.items())) for turn in grade.turns}
    steps, output = defaultdict[str, list[reward_pb2.StepScore]](list), answering(calls).number
    for step in grade.steps:
        steps[step.call or output].append(step)
    return [replace(call, scores=turns.get(call.number, {}),
                    spans=[*call.spans, *_scored(call, steps[call.number], tokenizer)]) for call in calls]


def _scored(call: Call, steps: Sequence[reward_pb2.StepScore], tokenizer: ModelText) -> list[Span]:
    if not steps:
        return []
    first = len(call.begun)
    ranges = token_ranges(tokenizer.pieces(call.completion_ids), [
        (max(0, step.start - first), max(0, step.end - first)) for step in steps])
    return [Span(step.name, *ends, score=step.value) for step, ends in zip(steps, ranges, strict=True)]
