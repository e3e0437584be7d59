"""The weighted mean of several graders' scores. Each score is also stored by its name, as a part of the reward."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hone.graders.contract import Bounds, Grader, GraderParams, Names, Result, Status, Tools, all_names, with_costs
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
    parts: dict[Name, Part] = Field(min_length=1, max_length=64, description="Parts by name: grader and weight.")


def inner(params: WeightedParams) -> dict[str, dict[str, Any]]:
    """Return the parts' graders by their paths."""
    return {_path(name): part.grader for name, part in params.parts.items()}


async def grade_sample(sample: Sample, params: WeightedParams, tools: Tools) -> Result:
    """Score sum_k w_k s_k / sum_k w_k over the parts k. The whole has no score where a part has none."""
    results = await tools.graded([(_path(name), sample) for name in params.parts])
    by_name = dict(zip(params.parts, results, strict=True))
    for name, result in by_name.items():
        if result.score is None:
            return with_costs(Result(
                result.status, None, reasons=(f"{name}: {'; '.join(result.reasons)}",), decided_by=name), results)
    return _mean(by_name, params)


def _path(name: str) -> str:
    return f"parts.{name}.grader"


def _mean(results: Mapping[str, Result], params: WeightedParams) -> Result:
    scores = {name: result.score or 0.0 for name, result in results.items()}
    score = _weighted(params, scores)
    answered = any(result.status is not Status.NO_ANSWER for result in results.values())
    inside = {f"{part}.{name}": value for part, result in results.items() for name, value in result.components.items()}
    whole = Result(Status.OK if answered else Status.NO_ANSWER, score, components={**inside, **scores},
                   decided_by="weighted", turns=_turns(results.values()),
                   steps=tuple(step for result in results.values() for step in result.steps),
                   reasons=tuple(f"{name}: {reason}" for name, result in results.items() for reason in result.reasons))
    return with_costs(whole, results.values())


def _turns(results: Iterable[Result]) -> dict[str, dict[str, float]]:
    """Return the turn scores of all parts; those of one name are added."""
    found: dict[str, dict[str, float]] = {}
    for number, scores in (turn for result in results for turn in result.turns.items()):
        own = found.setdefault(number, {})
        for name, value in scores.items():
            own[name] = own.get(name, 0.0) + value
    return found


def _weighted(params: WeightedParams, values: Mapping[str, float]) -> float:
    total = sum(part.weight for part in params.parts.values())
    return sum(part.weight * values[name] for name, part in params.parts.items()) / total


def components(params: WeightedParams, of_parts: Mapping[str, Names]) -> Names:
    """Return the parts' names, and those of their own components behind them."""
    return frozenset(params.parts) | {
        f"{name}.{inside}" for name in params.parts for inside in of_parts[_path(name)]}


def bounds(params: WeightedParams, of_parts: Mapping[str, Bounds]) -> Bounds:
    """Return the weighted means of the parts' smallest and of their largest scores."""
    low, high = ({name: of_parts[_path(name)][end] for name in params.parts} for end in (0, 1))
    return _weighted(params, low), _weighted(params, high)


GRADER = Grader(WeightedParams, reads_output=False, bounds=bounds, inner=inner, grade_sample=grade_sample,
                components=components, turn_scores=all_names, step_scores=all_names)
