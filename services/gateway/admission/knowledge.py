"""Knowledge of environments: stored of a run, checked for the harnesses that name it, and copied into their run."""

from collections.abc import Iterator

from psycopg.types.json import Jsonb

from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.mapping.lessons import COLLECTION
from hone.harnesses.mapping.params import MapThenActParams
from hone.resolution import sources
from hone.resolution.sources import Source
from hone.resolution.stages import stages
from hone.spec.problems import Invalid, Problem, found
from hone.spec.run import RunSpec
from hone.store.database import AsyncTransaction, Row
from services.gateway.middleware.errors import unknown_run

_STORE = "harness.params.store"


async def save(transaction: AsyncTransaction, name: str, run_id: str) -> tuple[Row, bool]:
    """Store what a run has learned as a name's next version; return it, and whether it is new.

    Raises Invalid for a run that has learned nothing, or of several environments.
    """
    run = await transaction.one("runs.detail", run_id=run_id)
    if run is None:
        raise unknown_run(run_id)
    learned = await transaction.one("knowledge.learned", run_id=run_id, collection=COLLECTION)
    if learned is None or not learned["items"]:
        raise Invalid([Problem("run_id", f"{run_id}, a run that has learned nothing yet", "a run with a harness that "
                               "builds knowledge (map_then_act with knowledge: build) and a committed step")])
    worlds = sorted({str(one.spec.task.environment) for _, one in _sources(RunSpec.model_validate(run["spec"]))})
    if len(worlds) != 1:
        raise Invalid([Problem("run_id", f"{run_id}, with tasks of {' and '.join(worlds)}",
                               "a run with a single environment, because knowledge belongs to a single environment")])
    await transaction.one("knowledge.lock", name=name)
    made = await transaction.one("knowledge.put", name=name, environment=worlds[0], run_id=run_id,
                                 step=learned["step"], items=Jsonb(learned["items"]))
    row = await transaction.one("knowledge.one", name=name, version=None)
    assert row is not None
    return row, made is not None


async def problems(transaction: AsyncTransaction, spec: RunSpec) -> list[Problem]:
    """Return why harnesses of a spec cannot begin with the stored knowledge that they name."""
    wrong, named = list[Problem](), set[str]()
    for at, source, store in _named(spec):
        row = await _version(transaction, store)
        if row is None:
            wrong.append(Problem(at, found(store), "stored knowledge, NAME or NAME@VERSION (`hone knowledge list`)"))
        elif row["environment"] != source.spec.task.environment:
            wrong.append(Problem(at, f"{store}, which is of {row['environment']}",
                                 f"knowledge of {source.spec.task.environment}, as in {source.path('task')}"))
        named.add(store)
        if len(named) > 1:
            return [*wrong, Problem(at, found(store), "the same store as in the run's other harnesses")]
    return wrong


async def inherit(transaction: AsyncTransaction, run_id: str, spec: RunSpec) -> None:
    """Copy the knowledge that a spec names into its run: later versions of the name change nothing there."""
    for store in {store for _, _, store in _named(spec)}:
        row = await _version(transaction, store)
        if row is not None:
            copied = {"run_id": run_id, "collection": COLLECTION, "name": row["name"], "version": row["version"]}
            await transaction.run("knowledge.begin", **copied)
            await transaction.run("knowledge.begin_items", **copied)


async def _version(transaction: AsyncTransaction, store: str) -> Row | None:
    name, _, version = store.partition("@")
    return await transaction.one("knowledge.one", name=name,
                                 version=int(version) if version else None)


def _named(spec: RunSpec) -> Iterator[tuple[str, Source, str]]:
    """Yield each store that a harness names, with its field and the source whose tasks it plays."""
    for prefix, source in _sources(spec):
        harness = source.spec.harness
        if harness is None or HARNESSES[harness.name].params is not MapThenActParams:
            continue
        params = MapThenActParams.model_validate(harness.params)
        if params.store is not None:
            yield source.inside(prefix).path(_STORE), source, params.store


def _sources(spec: RunSpec) -> Iterator[tuple[str, Source]]:
    """Yield what each stage trains on, with what precedes the fields of the stage."""
    for stage in stages(spec):
        prefix = f"stages[{stage.number}]." if stage.number < len(spec.stages) else ""
        for source in sources.of(stage.spec):
            yield prefix, source
