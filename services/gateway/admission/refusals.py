"""The problems of a spec that is wrong by itself, with those of the models and datasets that its right fields name."""

from collections.abc import Iterator
from typing import Any

from hone.algorithms import presets
from hone.resolution import Reading
from hone.resolution.sources import Source
from hone.spec.problems import Problem
from hone.spec.run import RunSpec, TaskSpec
from hone.spec.settings import Settings
from hone.store.objects import Objects
from services.gateway.admission import references, task_rows
from services.gateway.middleware.tenancy import TenantSession

_READ_WITH_ROWS = ("algorithm", "grader", "contexts", "harness")
"""Fields that decide which keys a row needs."""


async def problems(session: TenantSession, objects: Objects, settings: Settings, reading: Reading) -> list[Problem]:
    """Return the problems of a reading, then those of models and datasets that no wrong field hides."""
    spec = _readable(reading)
    found = list[Problem]()
    async with session.transaction() as transaction:
        base = None if reading.is_wrong("model") else await references.base_of(transaction, spec, found)
        if not reading.is_wrong("roles"):
            await references.roles_of(transaction, settings, spec, base, found)
        for one in _sources(spec, reading):
            wanted, trained = _columns(one, reading), not one.held_out_alone
            demonstrated = bool(wanted) and trained and presets.builder_of(one.spec.algorithm) == "dataset"
            found += await references.dataset_problems(
                transaction, settings, one.spec.task, one.at, wanted, demonstrated)
        for one in task_rows.parts(spec):
            found += references.length_problems(one, base, settings)
    named = {problem.field for problem in found}
    lacks = {} if base is None else base.text.get("lacks", {})
    rows = await task_rows.check(session, objects, _with_right_rows(spec, reading), lacks)
    found += [problem for checked in rows if f"{checked.at}.dataset" not in named for problem in checked.problems()]
    right = (problem for problem in dict.fromkeys(found) if not reading.is_wrong(problem.field))
    return [*reading.problems, *right]


def _readable(reading: Reading) -> RunSpec:
    """Return the spec without stages and evaluation where these have problems."""
    without: dict[str, Any] = {"stages": [], "eval": None}
    return reading.spec.model_copy(update={name: value for name, value in without.items() if reading.is_wrong(name)})


def _sources(spec: RunSpec, reading: Reading) -> Iterator[Source]:
    """Yield each source of tasks that has no problem."""
    if not reading.is_wrong("task"):
        found = (*task_rows.parts(spec), *task_rows.held_out(spec))
        yield from (one for one in found if not reading.is_wrong(one.at))


def _columns(source: Source, reading: Reading) -> set[str]:
    """Return the keys that every row needs; none where they cannot be known, because fields are wrong."""
    if any(map(reading.is_wrong, _READ_WITH_ROWS)) or source.spec.algorithm.preset not in presets.PRESETS:
        return set()
    return references.columns(source.spec, trained=not source.held_out_alone)


def _with_right_rows(spec: RunSpec, reading: Reading) -> RunSpec:
    """Return the spec with the datasets alone whose rows can be checked."""
    if not reading.is_wrong("task"):
        return spec
    return spec.model_copy(update={"task": TaskSpec(environment="sort_digits"), "stages": []})
