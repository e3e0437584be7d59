"""The desk as an environment: tasks drawn by seed, or rows that name a family and a seed, or hold a whole task."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.desk.episode import DeskEpisode, opening
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.permissions import Permission
from hone.environments.desk.scenery import Variant
from hone.environments.desk.task import DeskTask
from hone.environments.desk.written import WrittenTask, task_of
from hone.environments.hashing import splitmix
from hone.spec.findings import first


class DeskParams(EnvironmentParams):
    """Which tasks there are, and how their desks differ from those of the same seeds."""

    families: list[Family] = Field([*FAMILIES], min_length=1, description="Families of tasks that seeds draw from.")
    conflict: bool = Field(True, description="Lay down a second source that says something else.")
    distractors: int = Field(4, ge=0, le=20, description="So many files, mails, events and notes no task is about.")
    shift_days: Annotated[int, Field(ge=-3650, le=3650)] = Field(0, description="Days by which all dates are moved.")
    rename: int = Field(0, ge=0, le=1000, description="Other numbers give other names of people and companies.")
    locked: bool = Field(False, description="Family clean: one of the temporary files may not be changed, and stays.")
    denied: list[Permission] = Field([], description="What the agent may not do: send mail, change the calendar, "
                                     "write or delete notes, merge contacts. The tool says what is allowed instead.")
    shell: bool = Field(False, description="Beside the other tools a shell over the files, with a few commands.")
    turns: int = Field(40, ge=1, le=1000, description="Most calls and answers of an episode.")


class Desk:
    """The policy reads what its user wants and calls tools. The state that it leaves is graded."""

    summary = "Tasks at a desk of files, mail, calendar, contacts and notes, graded by the state that is left."
    params = DeskParams
    harness = "tool_loop"
    columns: frozenset[str] | None = frozenset({"family", "seed"})
    asked_roles: frozenset[str] = frozenset()
    foreign = False

    def rules(self, params: DeskParams) -> Mapping[str, float]:
        return {}

    def messages(self, params: DeskParams, seed: int, item: Row | None) -> list[Message]:
        return opening(_task(params, seed, item))

    def content(self, params: DeskParams, seed: int, item: Row | None) -> dict[str, Any]:
        one = _task(params, seed, item)
        return {"messages": opening(one), "state": one.state, **({"denied": one.denied} if one.denied else {})}

    def episode(self, params: DeskParams, seed: int, item: Row | None) -> DeskEpisode:
        return DeskEpisode(_task(params, seed, item), params.turns, params.shell)


def _task(params: DeskParams, seed: int, item: Row | None) -> DeskTask:
    if item is not None and item.get("task") is not None:
        return _written(item["task"])
    variant = Variant(params.shift_days, params.rename, params.conflict, params.distractors, params.locked,
                      tuple(sorted({*params.denied})))
    if item is None:
        return task(params.families[splitmix(seed) % len(params.families)], seed, variant)
    family, number = next((one for one in FAMILIES if one == item.get("family")), None), item.get("seed")
    if family is None:
        raise WrongParams("item.family", item.get("family"), f"one of {', '.join(FAMILIES)}")
    if not isinstance(number, int) or isinstance(number, bool):
        raise WrongParams("item.seed", number, "a whole number")
    return task(family, number, variant)


def _written(given: Any) -> DeskTask:
    """Return the task that a row holds. Raises WrongParams."""
    try:
        return task_of(WrittenTask.model_validate(given))
    except ValidationError as error:
        raise WrongParams(*first(error, "item", "task", model=WrittenTask)) from error
