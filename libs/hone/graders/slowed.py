"""Another grader behind a wait, to try a training with slow verification."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from hone.environments.hashing import digest
from hone.graders.contract import Bounds, Grader, GraderParams, Result, Tools, all_names
from hone.graders.sample import Item, Sample


class SlowedParams(GraderParams):
    """The grader that decides, and how long it waits."""

    type: Literal["slowed"] = Field(description="Name of the grader.")
    grader: dict[str, Any] = Field(description="JSON of the grader that decides; it needs no process of its own.")
    seconds: float = Field(0.5, ge=0, le=3600, description="Seconds to wait before each grade.")
    straggler_every: int = Field(0, ge=0, description="One task in about this many is a straggler; 0: none.")
    straggler_seconds: float = Field(
        5.0, ge=0, le=3600, description="Seconds to wait before each grade of a straggler. A call lasts 60 s at "
        "most and each call waits anew, so with more seconds the group is never graded.")


def inner(params: SlowedParams) -> dict[str, dict[str, Any]]:
    """Return the grader that decides."""
    return {"grader": params.grader}


async def grade_sample(sample: Sample, params: SlowedParams, tools: Tools) -> Result:  # noqa: ARG001
    """Return the result of the grader that decides."""
    [result] = await tools.graded([("grader", sample)])
    return result


def wait_s(item: Item, params: SlowedParams) -> float:
    """Return the seconds before a grade. Whether a task is a straggler depends on its row alone."""
    straggles = params.straggler_every and int(digest(item)[:8], 16) % params.straggler_every == 0
    return params.straggler_seconds if straggles else params.seconds


def bounds(params: SlowedParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return those of the grader that decides."""
    return of_inner["grader"]


GRADER = Grader(SlowedParams, bounds=bounds, wait_s=wait_s, inner=inner, grade_sample=grade_sample,
                components=all_names, turn_scores=all_names, step_scores=all_names)
