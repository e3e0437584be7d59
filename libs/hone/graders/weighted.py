"""The weighted mean of several graders' scores. Each score is also stored by its name, as a part of the reward."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hone.graders import parts
from hone.graders.contract import Bounds, Grader, GraderParams, Names, Result, Tools, all_names
from hone.graders.sample import Sample
from hone.spec.parameters import Strict


class Part(Strict):
    """One grader and its weight."""

    model_config = ConfigDict(strict=True)

    grader: dict[str, Any] = Field(description="JSON of a grader of single samples.")
    weight: float = Field(1.0, gt=0, le=1e6, description="Weight of the part's score in the mean.")


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
"""Name of a part. Stored grades call the whole by the empty name."""


class WeightedParams(GraderParams):
    """The parts of the reward."""

    type: Literal["weighted"] = Field(description="Name of the grader.")
    parts: dict[Name, Part] = Field(
        min_length=1, max_length=64, description="Parts by name: grader and weight.",
        examples=[{"right": {"grader": {"type": "math"}, "weight": 0.9}, "tidy": {"grader": {"type": "structured"}}}])


def inner(params: WeightedParams) -> dict[str, dict[str, Any]]:
    """Return the parts' graders by their paths."""
    return {_path(name): part.grader for name, part in params.parts.items()}


async def grade_sample(sample: Sample, params: WeightedParams, tools: Tools) -> Result:
    """Score sum_k w_k s_k / sum_k w_k over the parts k. The whole has no score where a part has none."""
    results = await tools.graded([(_path(name), sample) for name in params.parts])
    by_name = dict(zip(params.parts, results, strict=True))
    return parts.masked(by_name) or parts.joined(by_name, _weighted(params, parts.scores(by_name)), "weighted")


def _path(name: str) -> str:
    return f"parts.{name}.grader"


def _weighted(params: WeightedParams, values: Mapping[str, float]) -> float:
    total = sum(part.weight for part in params.parts.values())
    return sum(part.weight * values[name] for name, part in params.parts.items()) / total


def components(params: WeightedParams, of_parts: Mapping[str, Names]) -> Names:
    """Return the parts' names, and those of their own components behind them."""
    return parts.components({name: of_parts[_path(name)] for name in params.parts})


def bounds(params: WeightedParams, of_parts: Mapping[str, Bounds]) -> Bounds:
    """Return the weighted means of the parts' smallest and of their largest scores."""
    low, high = ({name: of_parts[_path(name)][end] for name in params.parts} for end in (0, 1))
    return _weighted(params, low), _weighted(params, high)


GRADER = Grader(WeightedParams, reads_output=False, bounds=bounds, inner=inner, grade_sample=grade_sample,
                components=components, turn_scores=all_names, step_scores=all_names)
