"""Several graders' scores as one: their weighted mean, with each kept as a part of the reward by its name."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hone.graders.contract import Grader, GraderParams, Item
from hone.graders.results import Result, Status


class Part(BaseModel):
    """One grader and what it counts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    grader: dict[str, Any] = Field(description="A grader that needs no process of its own.")
    weight: float = Field(1.0, gt=0, le=1e6, description="What it counts against the others.")


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
"""Of a part; the whole's is empty where grades are stored."""


class WeightedParams(GraderParams):
    """Parts of the reward by name."""

    type: Literal["weighted"]
    parts: dict[Name, Part] = Field(min_length=1, max_length=64, description="Graders by the name of their part.")


def grade(item: Item, output_text: str, params: WeightedParams) -> Result:
    """Score sum_k w_k s_k / sum_k w_k; a part that could not tell leaves the whole without a score."""
    from hone.graders.judgement import judged  # they know every grader, this one too
    from hone.graders.specs import spec

    told = {name: judged(spec(json.dumps(part.grader)), item, output_text) for name, part in params.parts.items()}
    for name, result in told.items():
        if result.score is None:
            return Result(result.status, None, reasons=(f"{name}: {'; '.join(result.reasons)}",), decided_by=name)
    return _joined(told, params)


def _joined(told: Mapping[str, Result], params: WeightedParams) -> Result:
    scores = {name: result.score or 0.0 for name, result in told.items()}
    total = sum(part.weight for part in params.parts.values())
    score = sum(params.parts[name].weight * value for name, value in scores.items()) / total
    answered = any(result.status is not Status.NO_ANSWER for result in told.values())
    return Result(Status.OK if answered else Status.NO_ANSWER, score, components=scores, decided_by="weighted",
                  reasons=tuple(f"{name}: {reason}" for name, result in told.items() for reason in result.reasons))


GRADER = Grader(WeightedParams, grade, reads_output=False, inner=lambda params: {
    f"parts.{name}.grader": part.grader for name, part in params.parts.items()})
