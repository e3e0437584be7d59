"""Another grader, with what exploration cost and what its map was worth as components: MAP, arXiv 2605.13037."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import Bounds, Grader, GraderParams, InvalidSpec, Names, Result, Tools, all_names
from hone.graders.sample import Reads, Sample, Spoken

_FIGURES = frozenset({"charged", "explored", "executed", "invalid", "precision", "converged"})


class MapUseParams(GraderParams):
    """The grader that scores."""

    type: Literal["map_use"] = Field(description="Name of the grader.")
    grader: dict[str, Any] = Field({"type": "environment"}, description="JSON of the grader that gives the score.")


def inner(params: MapUseParams) -> dict[str, dict[str, Any]]:
    """Return the grader that scores."""
    return {"grader": params.grader}


async def grade_sample(sample: Sample, params: MapUseParams, tools: Tools) -> Result:  # noqa: ARG001
    """Return the other grader's result with components of an episode of the harness `map_then_act`.

    charged: the score, 0 where exploration and execution together took more steps than the episode has turns; explored,
    executed, invalid: numbers of steps; precision of the map and whether exploration converged, missing without one.
    Raises InvalidSpec without a conversation.
    """
    if sample.conversation is None:
        raise InvalidSpec("found no conversation, expected the calls of a sample")
    [result] = await tools.graded([("grader", sample)])
    if result.score is None:
        return result
    figures = _figures(sample.conversation.policy, result.score)
    return replace(result, components={**result.components, **figures})


def _figures(calls: Sequence[Spoken], score: float) -> dict[str, float]:
    noted = {name: value for call in calls for name, value in call.notes.items()}
    figures = dict[str, float]()
    if outcome := noted.get("outcome"):
        figures = {name: float(outcome[name]) for name in ("explored", "executed", "invalid")}
        figures["charged"] = score if outcome["spent"] <= outcome["turns"] else 0.0
    if "stop" in noted:
        figures["converged"] = float(noted["stop"] == "converged")
    precision = noted.get("map", {}).get("precision")
    return figures if precision is None else {**figures, "precision": precision}


def components(params: MapUseParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return its own, and those of the other grader."""
    return of_inner["grader"] | _FIGURES


def bounds(params: MapUseParams, of_inner: Mapping[str, Bounds]) -> Bounds:  # noqa: ARG001
    """Return those of the other grader."""
    return of_inner["grader"]


GRADER = Grader(MapUseParams, grade_sample=grade_sample, reads=frozenset({Reads.CONVERSATION}), reads_output=False,
                bounds=bounds, inner=inner, components=components, turn_scores=all_names, step_scores=all_names)
