"""The environment's state after the episode: what it has to hold, and what has to be as it was."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hone.environments.hashing import canonical
from hone.graders.contract import Grader, GraderParams, InvalidSpec, Names, Result, Status, Tools
from hone.graders.sample import Reads, Sample
from hone.graders.templates import Template, rendered

Path = Annotated[str, Field(pattern=r"^[^.\s]+(\.[^.\s]+)*$")]
"""Keys of the state's JSON, from outside to inside."""


class StateParams(GraderParams):
    """Compared parts of the environment's snapshots."""

    type: Literal["state"] = Field(description="Name of the grader.")
    expected: dict[Path, Template] = Field(
        {}, description="Texts by their paths in the last state: keys joined by dots, places in lists as numbers. Any "
        "other value is compared as JSON.", examples=[{"order.status": "{{ item.status }}"}])
    unchanged: list[Path] = Field([], description="Paths whose values have to stay as in the first state.")

    @model_validator(mode="after")
    def _looks_at_something(self) -> "StateParams":
        if not self.expected and not self.unchanged:
            raise ValueError("expected a path in expected or in unchanged")
        return self


async def grade_sample(sample: Sample, params: StateParams, tools: Tools) -> Result:  # noqa: ARG001
    """Score 1 where everything is as expected, else 0. Each path is a component, and each wrong one a reason.

    A path that the last state lacks is wrong. Raises InvalidSpec without a world, where the first state lacks a path
    that has to be unchanged, and where a template names what the row lacks.
    """
    if sample.world is None:
        raise InvalidSpec("found no world, expected the states of the environment")
    right = dict[str, bool]()
    for path, template in params.expected.items():
        right[path] = _text(at_path(sample.world.after, path)) == rendered(template, sample.item, sample.output)
    for path in params.unchanged:
        before = at_path(sample.world.before, path)
        if before is MISSING:
            raise InvalidSpec(f"unchanged: found {path!r}, expected a path of the environment's first state: "
                              f"{', '.join(sample.world.before)}")
        right[path] = right.get(path, True) and at_path(sample.world.after, path) == before
    return Result(Status.OK, float(all(right.values())), {path: float(value) for path, value in right.items()},
                  reasons=tuple(f"{path} is not as expected" for path, value in right.items() if not value),
                  decided_by="state")


def components(params: StateParams, of_inner: Mapping[str, Names]) -> Names:  # noqa: ARG001
    """Return the paths."""
    return frozenset([*params.expected, *params.unchanged])


MISSING = object()
"""Marker of a path that a state lacks."""


def at_path(state: Any, path: str) -> Any:
    """Return the value at a path of a state, or MISSING."""
    for key in path.split("."):
        if isinstance(state, list) and key.isdecimal() and int(key) < len(state):
            state = state[int(key)]
        elif isinstance(state, dict) and key in state:
            state = state[key]
        else:
            return MISSING
    return state


def _text(value: Any) -> str | None:
    if value is MISSING:
        return None
    return value if isinstance(value, str) else canonical(value)


GRADER = Grader(StateParams, grade_sample=grade_sample, reads=frozenset({Reads.WORLD}), reads_output=False,
                components=components)
