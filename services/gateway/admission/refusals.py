"""The problems of a spec that is wrong by itself, with those of the models and datasets that its right fields name."""

from collections.abc import Iterator
from typing import Any

from hone.algorithms import presets
from hone.resolution import Reading
from hone.spec.problems import Problem
from hone.spec.run import RunSpec, TaskSource
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
        for at, part, source in _sources(spec, reading):
            wanted = _columns(part, source, at, reading)
            demonstrated = bool(wanted) and at != "eval.source" and presets.builder_of(part.algorithm) == "dataset"
            found += await references.dataset_problems(
                transaction, settings, source, at, wanted, demonstrated)
        for at, part in task_rows.parts(spec):
            found += references.length_problems(part, at, base, settings)
    named = {problem.field for problem in found}
    lacks = {} if base is None else base.text.get("lacks", {})
    rows = await task_rows.check(session, objects, _with_right_rows(spec, reading), lacks)
    found += [problem for one in rows if f"{one.at}.dataset" not in named for problem in one.problems()]
    return [*reading.problems, *(problem for problem in found if not reading.is_wrong(problem.field))]


def _readable(reading: Reading) -> RunSpec:
    """Return the spec without stages and evaluation where these have problems."""
    without: dict[str, Any] = {"stages": [], "eval": None}
    return reading.spec.model_copy(update={name: value for name, value in without.items() if reading.is_wrong(name)})


def _sources(spec: RunSpec, reading: Reading) -> Iterator[tuple[str, RunSpec, TaskSource]]:
    """Yield field, spec of the part, and source of each task source that has no problem."""
    found = [(f"{at}task", part, part.task) for at, part in task_rows.parts(spec)]
    if spec.eval is not None and spec.eval.source is not None:
        found.append(("eval.source", spec, spec.eval.source))
    yield from (one for one in found if not reading.is_wrong(one[0]) and not reading.is_wrong("task"))


def _columns(part: RunSpec, source: TaskSource, at: str, reading: Reading) -> set[str]:
    """Return the keys that every row needs; none where they cannot be known, because fields are wrong."""
    if any(map(reading.is_wrong, _READ_WITH_ROWS)) or part.algorithm.preset not in presets.PRESETS:
        return set()
    return references.columns(part, source, trained=at != "eval.source")


def _with_right_rows(spec: RunSpec, reading: Reading) -> RunSpec:
    """Return the spec with the datasets alone whose rows can be checked."""
    if not reading.is_wrong("task"):
        return spec
    return spec.model_copy(update={"task": TaskSource(environment="sort_digits"), "stages": []})
