"""Manifests of tasks: saved of a run's rollouts, found for the samplers of another run, and kept with that run."""

from collections.abc import Iterator, Sequence

from psycopg.types.json import Jsonb

from hone.algorithms import presets
from hone.algorithms.catalogue import SAMPLERS
from hone.algorithms.samplers.manifest import ManifestParams
from hone.algorithms.topocurate.manifest import OWN, SAVED, Entry, inherited
from hone.resolution import sources
from hone.resolution.sources import Source
from hone.resolution.stages import Stage, stages
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec
from hone.store.database import AsyncTransaction, Row
from services.gateway.middleware.tenancy import TenantSession

_RUN = "algorithm.sampler.params.run"


async def save(transaction: AsyncTransaction, session: TenantSession, run_id: str, entries: Sequence[Entry]) -> int:
    """Add a version of a run's saved manifest and return its number."""
    row = await transaction.one("collections.next_version", run_id=run_id, name=SAVED)
    version = int(row["version"]) if row else 1
    key = {"run_id": run_id, "tenant_id": session.tenant_id, "name": SAVED, "version": version}
    await transaction.run("collections.add", **key, state=Jsonb({}))
    await transaction.run("collections.add_items", **key, bodies=[Jsonb(one.item()) for one in entries])
    return version


async def problems(transaction: AsyncTransaction, spec: RunSpec) -> list[Problem]:
    """Return why the samplers of a spec cannot draw by the runs that they name."""
    return [problem for at, stage, run_id in _named(spec)
            for problem in await _of_stage(transaction, at, stage, run_id)]


async def inherit(transaction: AsyncTransaction, run_id: str, spec: RunSpec) -> None:
    """Copy the manifests that a spec's samplers name into its run: what becomes of the other run changes nothing."""
    for other in dict.fromkeys(other for _, _, other in _named(spec)):
        row = await _newest(transaction, other)
        if row is not None:
            copied = {"run_id": run_id, "name": inherited(other), "of_run": other, "of_name": row["name"],
                      "of_version": row["version"]}
            await transaction.run("collections.copy", **copied)
            await transaction.run("collections.copy_items", **copied)


def _named(spec: RunSpec) -> Iterator[tuple[str, Stage, str]]:
    """Yield each run that a stage's sampler names, with the field that names it."""
    for stage in stages(spec):
        slot = presets.resolve(stage.spec.algorithm)["sampler"]
        params = SAMPLERS[slot["name"]].params.model_validate(slot["params"])
        if isinstance(params, ManifestParams) and params.run is not None:
            at = f"stages[{stage.number}].{_RUN}" if stage.number < len(spec.stages) else _RUN
            yield at, stage, params.run


async def _newest(transaction: AsyncTransaction, run_id: str) -> Row | None:
    return await transaction.one("collections.newest_saved", run_id=run_id, names=[SAVED, OWN])


async def _of_stage(transaction: AsyncTransaction, at: str, stage: Stage, run_id: str) -> list[Problem]:
    run = await transaction.one("runs.detail", run_id=run_id)
    if run is None:
        return [Problem(at, found(run_id), "a run with curated tasks (`hone runs list`)")]
    manifest = await _newest(transaction, run_id)
    if manifest is None:
        return [Problem(at, f"{run_id}, which has no manifest", f"a run with a manifest: `hone curate {run_id} "
                        "--save`")]
    other = [source for one in stages(RunSpec.model_validate(run["spec"])) for source in sources.of(one.spec)]
    wrong = [Problem(at, f"{run_id}, with the tasks {' and '.join(dict.fromkeys(map(_words, other)))}",
                     f"a run with tasks of {_words(source)}, as in {source.path('task')}")
             for source in sources.of(stage.spec)
             if not any(sources.same_tasks(source.spec.task, one.spec.task) for one in other)]
    if not wrong and not manifest["usable"]:
        wrong = [Problem(at, f"{run_id}, without a curated task that had both a success and a failure",
                         "a manifest with such tasks: curate other steps of this run, or another run")]
    return wrong


def _words(source: Source) -> str:
    task = source.spec.task
    if task.dataset is not None:
        return f"dataset {task.dataset!r}" + ("" if task.environment is None else f" in {task.environment}")
    return f"{task.environment} with {task.params}"
