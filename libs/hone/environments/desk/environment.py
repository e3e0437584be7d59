"""The desk as an environment: tasks drawn by seed, or rows that name a family and a seed, or hold a whole task."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, WithJsonSchema

from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.desk import shell
from hone.environments.desk.episode import DeskEpisode, opening
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.people_tools import EVERY
from hone.environments.desk.permissions import Permission
from hone.environments.desk.scenery import Variant
from hone.environments.desk.task import DeskTask
from hone.environments.desk.written import WrittenTask, task_of
from hone.environments.hashing import splitmix
from hone.environments.tools import tool_call
from hone.spec.findings import first
from hone.spec.problems import unstorable


def _at_hand(name: str, info: ValidationInfo) -> str:
    if name not in EVERY:
        raise ValueError(f"one of {', '.join(EVERY)}")
    if name in shell.TOOLS and not info.data.get("shell"):
        raise ValueError("a tool of this desk; with shell: true it has a shell")
    return name


DeskTool = Annotated[str, AfterValidator(_at_hand), WithJsonSchema({"type": "string", "enum": [*EVERY]})]
"""The name of a tool that the desk has."""


class DeskParams(EnvironmentParams):
    """Choice of tasks, and how their desks differ from those of the same seeds."""

    families: list[Family] = Field([*FAMILIES], min_length=1, description="Families of tasks that seeds draw from.")
    conflict: bool = Field(True, description="Lay down a second source that says something else.")
    distractors: int = Field(4, ge=0, le=20, description="So many files, mails, events and notes no task is about.")
    shift_days: Annotated[int, Field(ge=-3650, le=3650)] = Field(0, description="Days by which all dates are moved.")
    rename: int = Field(0, ge=0, le=1000, description="Other numbers give other names of people and companies.")
    locked: bool = Field(False, description="Family clean: one of the temporary files may not be changed, and stays.")
    denied: list[Permission] = Field([], description="Actions that the agent may not take: send mail, change the "
                                     "calendar, "
                                     "write or delete notes, merge contacts. The tool says what is allowed instead.")
    shell: bool = Field(False, description="Adds a shell over the files, with a few commands, to the other tools.")
    tools: list[DeskTool] = Field([], description="The only tools that the agent is offered and may call; empty: all.")
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
        return DeskEpisode(_task(params, seed, item), params.turns, params.shell, params.tools)


def _task(params: DeskParams, seed: int, item: Row | None) -> DeskTask:
    """Return the task of a seed or a row. Raises WrongParams, also where its solution needs a tool that is not offered.
    """
    variant = Variant(params.shift_days, params.rename, params.conflict, params.distractors, params.locked,
                      tuple(sorted({*params.denied})))
    if item is None:
        _offer(params, {f"the tasks of {family}": _solution(family, variant) for family in params.families})
        return task(params.families[splitmix(seed) % len(params.families)], seed, variant)
    found = _written(item["task"]) if item.get("task") is not None else _named(item, variant)
    _offer(params, {"this row's task": found.scripts.perfect})
    return found


def _offer(params: DeskParams, solutions: Mapping[str, Sequence[str]]) -> None:
    """Raise WrongParams where solutions call tools that are not offered. `solutions` is by what the tasks are."""
    missing = {what: lacking for what, actions in solutions.items() if (lacking := _lacking(actions, params.tools))}
    if params.tools and missing:
        names = ", ".join(sorted(frozenset().union(*missing.values())))
        raise WrongParams("params.tools", params.tools,
                          f"also {names}, which {' and '.join(missing)} cannot be done without")


def _lacking(actions: Sequence[str], offered: Collection[str]) -> frozenset[str]:
    called = map(tool_call, shell.spelled(actions, offered))
    return frozenset(call.tool for call in called if call and call.tool and call.tool not in offered)


@lru_cache(maxsize=256)
def _solution(family: Family, variant: Variant) -> tuple[str, ...]:
    """Return calls that solve a task of a family: which tools they are of, what is denied decides, and no seed."""
    return task(family, 0, variant).scripts.perfect


def _named(item: Row, variant: Variant) -> DeskTask:
    """Return the task of the family and the seed that a row names. Raises WrongParams."""
    family, number = next((one for one in FAMILIES if one == item.get("family")), None), item.get("seed")
    if family is None:
        raise WrongParams("item.family", item.get("family"), f"one of {', '.join(FAMILIES)}")
    if not isinstance(number, int) or isinstance(number, bool):
        raise WrongParams("item.seed", number, "a whole number")
    return task(family, number, variant)


def _written(given: Any) -> DeskTask:
    """Return the task that a row holds. Raises WrongParams."""
    for wrong in unstorable(given):
        raise WrongParams(".".join(filter(None, ("item.task", wrong.field))), wrong.found, wrong.expected)
    try:
        return task_of(WrittenTask.model_validate(given))
    except ValidationError as error:
        raise WrongParams(*first(error, "item", "task", model=WrittenTask)) from error
