"""OpenAI's multi: several graders, and a formula that joins their scores. Each score is also stored by its name."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from hone.graders import parts
from hone.graders.contract import Bounds, Grader, GraderParams, InvalidSpec, Names, Result, Tools, all_names
from hone.graders.formula import Formula, FormulaError, parsed
from hone.graders.sample import Sample

MOST, FARTHEST = 64, 1e9
"""Graders of one formula, and the distance of its score from 0: of one without known bounds, too."""
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_Given = dict[str, Any]
_Finite = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]


class MultiParams(GraderParams):
    """The fields of OpenAI's grader, and the range of its score."""

    type: Literal["multi"] = Field(description="Name of the grader.")
    graders: dict[str, Any] | list[_Given] = Field(
        description="Graders by the names that the formula uses. A list of graders, or a single grader, has them in "
        "the "
        "graders' own name.", examples=[{"right": {"type": "math"}, "tidy": {"type": "structured"}}])
    calculate_output: str = Field(
        description="Formula over the graders' names: numbers, brackets, + - * / ^, and the functions min max abs "
        "floor ceil exp sqrt log.", examples=["0.9 * right + 0.1 * tidy"])
    range: list[_Finite] | None = Field(
        None, min_length=2, max_length=2, description="Smallest and largest score; a score outside is a defect of the "
        "formula. null: the range that the formula's parts allow.")

    @field_validator("graders")
    @classmethod
    def _named(cls, given: dict[str, Any] | list[_Given]) -> dict[str, Any] | list[_Given]:
        listed = _listed(given)
        names = [name for name, _, _ in listed]
        for name, path, grader in listed:
            if not _KEY.fullmatch(name) or names.count(name) > 1:
                raise ValueError(f"a name of its own at {path}, of letters, digits and _, not {name!r}")
            if not isinstance(grader, dict) or grader.get("type") == "multi":
                raise ValueError(f"a grader of another type than multi at {path}")
        if not 1 <= len(listed) <= MOST:
            raise ValueError(f"1 to {MOST} graders, not {len(listed)}")
        return given

    @field_validator("calculate_output")
    @classmethod
    def _readable(cls, given: str, info: ValidationInfo) -> str:
        unknown = parsed(given).names - {name for name, _, _ in _listed(info.data.get("graders", {}))}
        if unknown and "graders" in info.data:
            raise ValueError(f"invalid_variable_error: names of graders, not {', '.join(sorted(unknown))}")
        return given


    @field_validator("range")
    @classmethod
    def _rising(cls, given: list[float] | None) -> list[float] | None:
        if given is not None and not given[0] < given[1]:
            raise ValueError("a smaller number before a larger one")
        return given


def _listed(given: dict[str, Any] | list[_Given]) -> list[tuple[str, str, _Given]]:
    """Return the name, the path and the JSON of each grader."""
    if isinstance(given, list):
        return [(str(one.get("name", "")), f"graders[{place}]", one) for place, one in enumerate(given)]
    if isinstance(given.get("type"), str):
        return [(str(given.get("name", "")), "graders", given)]
    return [(name, f"graders.{name}", one) for name, one in given.items()]


def inner(params: MultiParams) -> dict[str, _Given]:
    """Return the graders by their paths."""
    return {path: one for _, path, one in _listed(params.graders)}


def _paths(params: MultiParams) -> dict[str, str]:
    return {name: path for name, path, _ in _listed(params.graders)}


@lru_cache(maxsize=256)
def _formula(text: str) -> Formula:
    return parsed(text)


async def grade_sample(sample: Sample, params: MultiParams, tools: Tools) -> Result:
    """Score the formula's value. There is none where a grader gave none. Raises InvalidSpec for an infinite one."""
    paths = _paths(params)
    results = await tools.graded([(path, sample) for path in paths.values()])
    by_name = dict(zip(paths, results, strict=True))
    return parts.masked(by_name) or parts.joined(by_name, _value(params, parts.scores(by_name)), "multi")


def _value(params: MultiParams, scores: Mapping[str, float]) -> float:
    try:
        return _formula(params.calculate_output).value(scores)
    except FormulaError as error:
        raise InvalidSpec(str(error)) from error


def bounds(params: MultiParams, of_parts: Mapping[str, Bounds]) -> Bounds:
    """Return the declared range, else what the formula can give; finite, because methods compute with it."""
    if params.range is not None:
        return params.range[0], params.range[1]
    of_names = {name: of_parts[path] for name, path in _paths(params).items()}
    low, high = _formula(params.calculate_output).bounds(of_names)
    return max(low, -FARTHEST), min(high, FARTHEST)


def components(params: MultiParams, of_parts: Mapping[str, Names]) -> Names:
    """Return the graders' names, and those of their own components behind them."""
    return parts.components({name: of_parts[path] for name, path in _paths(params).items()})


GRADER = Grader(MultiParams, reads_output=False, bounds=bounds, inner=inner, grade_sample=grade_sample,
                components=components, turn_scores=all_names, step_scores=all_names)
