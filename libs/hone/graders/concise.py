"""Another grader, and a bonus for right answers that are shorter than others of their group."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import Bounds, Grader, GraderParams, Result, Tools, all_names, own_names
from hone.graders.sample import Reads, Sample


class ConciseParams(GraderParams):
    """The grader that says what is right, and how much length matters."""

    type: Literal["concise"] = Field(description="Name of the grader.")
    grader: dict[str, Any] = Field(description="JSON of the grader that decides whether an answer is right.")
    weight: float = Field(0.2, gt=0, le=1e6, description="Difference between the shortest and the longest answer.")
    right: float = Field(1.0, description="Answers with at least this score are right.")


def inner(params: ConciseParams) -> dict[str, dict[str, Any]]:
    """Return the grader that says what is right."""
    return {"grader": params.grader}


async def grade_group(samples: Sequence[Sample], params: ConciseParams, tools: Tools) -> list[Result]:
    """Add weight * (0.5 - (l - l_min) / (l_max - l_min)) to the score of a right answer of l characters.

    A wrong answer gets no bonus, but the same malus. The lengths are those of the group's samples that have a score; if
    all are equal nothing is added.
    """
    results = await tools.graded([("grader", sample) for sample in samples])
    graded = [(result, len(sample.output)) for result, sample in zip(results, samples, strict=True)]
    lengths = [length for result, length in graded if result.score is not None]
    if not lengths:
        return [result for result, _ in graded]
    shortest, spread = min(lengths), max(lengths) - min(lengths)
    return [_with_bonus(result, (length - shortest) / spread if spread else 0.5, params) for result, length in graded]


def _with_bonus(result: Result, length: float, params: ConciseParams) -> Result:
    if result.score is None:
        return result
    bonus = params.weight * (0.5 - length)
    given = bonus if result.score >= params.right else min(0.0, bonus)
    return replace(result, score=result.score + given,
                   components={**result.components, "right": result.score, "length": given})


def bounds(params: ConciseParams, of_inner: Mapping[str, Bounds]) -> Bounds:
    """Return those of the grader inside, widened by half the weight."""
    low, high = of_inner["grader"]
    return low - params.weight / 2, high + params.weight / 2


GRADER = Grader(ConciseParams, grade_group=grade_group, reads=frozenset({Reads.GROUP}), reads_output=False,
                bounds=bounds, inner=inner, components=own_names("right", "length"), turn_scores=all_names,
                step_scores=all_names)
