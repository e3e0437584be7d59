"""The environment's own score of an episode's last state."""

import math
from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, InvalidSpec, Result, Status, is_name
from hone.graders.sample import Item


class EnvironmentGraderParams(GraderParams):
    """No parameters: the environment decides."""

    type: Literal["environment"] = Field(description="Name of the grader.")


def grade(item: Item, output_text: str, params: EnvironmentGraderParams) -> Result:  # noqa: ARG001
    """Return `item.verified`, a number from 0 to 1, with the numbers of `item.components`, of any size, as components.

    Raises InvalidSpec where the environment does not score itself.
    """
    verified = item.get("verified")
    if isinstance(verified, bool) or not isinstance(verified, int | float) or not 0 <= verified <= 1:
        raise InvalidSpec(f"item.verified: found {verified!r}, expected a number from 0 to 1 from the environment")
    return Result(Status.OK, float(verified), components(item.get("components")), decided_by="environment")


def components(given: object) -> dict[str, float]:
    """Return the numbers with a name of an item's `components`; what else may be there is not the environment's."""
    known = given if isinstance(given, dict) else {}
    return {name: float(value) for name, value in known.items() if is_name(name) and not isinstance(value, bool)
            and isinstance(value, int | float) and math.isfinite(value)}


GRADER = Grader(EnvironmentGraderParams, grade, reads_output=False, figures=True)
