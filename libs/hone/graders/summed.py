"""One number for a session and its turns: another grader's score, and what rules gave the turns.

This is the summed reward with which DuCA (arXiv 2603.01481) compares advantages of their own for sessions and turns.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import Bounds, Grader, GraderParams, InvalidSpec, Names, Result, Tools, all_names
from hone.graders.sample import Conversation, Reads, Sample


class SummedParams(GraderParams):
    """The grader of the session, its weight, and how far turns may change its score."""

    type: Literal["summed"] = Field(description="Name of the grader.")
    grader: dict[str, Any] = Field({"type": "environment"}, description="JSON of the grader of the session.")
    weight: float = Field(1.0, gt=0, le=1e6, description="Factor of the session's score.")
    most: float = Field(100.0, gt=0, le=1e6, description="The sum over turns is cut off at this size.")


def inner(params: SummedParams) -> dict[str, dict[str, Any]]:
    """Return the grader of the session."""
    return {"grader": params.grader}


async def grade_sample(sample: Sample, params: SummedParams, tools: Tools) -> Result:
    """Return weight * session + sum_t r_t, with `session` and `turns`, the sum, as components.

    r_t is what the environment's rules and the harness's gave turn t. Raises InvalidSpec without a conversation.
    """
    if sample.conversation is None:
        raise InvalidSpec("found no conversation, expected the calls of a sample")
    [result] = await tools.graded([("grader", sample)])
    if result.score is None:
        return result
    turns = max(-params.most, min(params.most, _paid(sample.conversation)))
    return replace(result, score=params.weight * result.score + turns, decided_by="summed",
                   components={**result.components, "session": result.score, "turns": turns})


def _paid(whole: Conversation) -> float:
    """Return the scores of all turns by rules."""
    return sum(step.reward or 0.0 for step in whole.steps) + sum(sum(call.rules.values()) for call in whole.policy)


def components(params: SummedParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return its own, and those of the grader inside."""
    return of_inner["grader"] | {"session", "turns"}


def bounds(params: SummedParams, of_inner: Mapping[str, Bounds]) -> Bounds:
    """Return those of the grader inside, weighed, and widened by the largest sum over turns."""
    low, high = of_inner["grader"]
    return params.weight * low - params.most, params.weight * high + params.most


GRADER = Grader(SummedParams, grade_sample=grade_sample, reads=frozenset({Reads.CONVERSATION}), reads_output=False,
                bounds=bounds, inner=inner, components=components, turn_scores=all_names, step_scores=all_names)
