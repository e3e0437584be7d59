"""The environment's own score of an episode's last state."""

from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, InvalidSpec, Result, Status
from hone.graders.sample import Item


class EnvironmentGraderParams(GraderParams):
    """No parameters: the environment decides."""

    type: Literal["environment"] = Field(description="Name of the grader.")


def grade(item: Item, output_text: str, params: EnvironmentGraderParams) -> Result:  # noqa: ARG001
    """Return `item.verified`, a number from 0 to 1. Raises InvalidSpec where the environment does not score itself."""
    verified = item.get("verified")
    if isinstance(verified, bool) or not isinstance(verified, int | float) or not 0 <= verified <= 1:
        raise InvalidSpec(f"item.verified: found {verified!r}, expected a number from 0 to 1 from the environment")
    return Result(Status.OK, float(verified), decided_by="environment")


GRADER = Grader(EnvironmentGraderParams, grade, reads_output=False)
