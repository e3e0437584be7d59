"""Another grader behind a wait: to see what slow verification does to a training before it is there."""

import json
from typing import Any, Literal

from pydantic import Field

from hone.environments.hashing import digest
from hone.graders.contract import Grader, GraderParams, Item
from hone.graders.results import Result


class SlowedParams(GraderParams):
    """Whose grades come late, and how late."""

    type: Literal["slowed"]
    grader: dict[str, Any] = Field(description="The grader that decides; one that needs no process of its own.")
    seconds: float = Field(0.5, ge=0, le=3600, description="Wait before each grade.")
    straggler_every: int = Field(0, ge=0, description="About one task in so many is a straggler; 0: none is.")
    straggler_seconds: float = Field(
        5.0, ge=0, le=3600, description="Wait before each grade of a straggler. Longer than a call may last "
        "(60 s), it begins again at each: such a group is never graded.")


def grade(item: Item, output_text: str, params: SlowedParams) -> Result:
    """Return the grade of the grader inside."""
    from hone.graders.judgement import judged  # they know every grader, this one too
    from hone.graders.specs import spec

    return judged(spec(json.dumps(params.grader)), item, output_text)


def wait_s(item: Item, params: SlowedParams) -> float:
    """Return the seconds before a grade; a task is a straggler or not, whatever its answers are."""
    straggles = params.straggler_every and int(digest(item)[:8], 16) % params.straggler_every == 0
    return params.straggler_seconds if straggles else params.seconds


GRADER = Grader(SlowedParams, grade, wait_s=wait_s, inner=lambda params: {"grader": params.grader})
