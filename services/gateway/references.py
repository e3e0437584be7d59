"""What a spec names must exist and fit: its base model, its datasets, its lengths."""

from dataclasses import dataclass

from hone.environments import ENVIRONMENTS
from hone.spec.problems import Problem, found
from hone.spec.resolution import supervised
from hone.spec.run import RunSpec, TaskSource
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction
from services.gateway import graders


@dataclass(frozen=True)
class Base:
    """Where a run's policy starts: a registered model or a version, one of them."""

    artifact_id: str | None = None
    version_id: str | None = None
    adapter: bool = False


async def resolve(transaction: AsyncTransaction, spec: RunSpec, settings: Settings) -> tuple[Base, list[Problem]]:
    """Return the run's base, and every problem with what the spec names. The base means nothing if there are any."""
    base, problems = await _base(transaction, spec)
    problems += await _dataset(transaction, spec.task, "task", _columns(spec, spec.task, trained=True))
    if spec.eval is not None and spec.eval.source is not None:
        wanted = _columns(spec, spec.eval.source, trained=False)
        problems += await _dataset(transaction, spec.eval.source, "eval.source", wanted)
    if spec.sampling.max_tokens >= settings.engine_max_tokens:
        problems.append(Problem("sampling.max_tokens", str(spec.sampling.max_tokens),
                                f"less than the engine's {settings.engine_max_tokens} positions, prompt included"))
    return base, problems


async def _base(transaction: AsyncTransaction, spec: RunSpec) -> tuple[Base, list[Problem]]:
    name = spec.model.base
    if name.startswith("ver_"):
        return _unadapted(spec, *await _version(transaction, name))
    if name.startswith("run_"):
        return _unadapted(spec, *await _finished_run(transaction, name))
    row = await transaction.one("gateway.artifact", kind="base_model", name=name)
    if row is None:
        return Base(), [Problem("model.base", found(name), "a model, version or run that is here (`hone models list`)")]
    if spec.sampling.max_tokens >= row["manifest"]["max_positions"]:
        return Base(), [Problem("sampling.max_tokens", str(spec.sampling.max_tokens),
                                f"less than the model's {row['manifest']['max_positions']} positions")]
    return Base(artifact_id=row["id"]), []


async def _version(transaction: AsyncTransaction, version_id: str) -> tuple[Base, list[Problem]]:
    row = await transaction.one("gateway.version", version_id=version_id)
    if row is None:
        return Base(), [Problem("model.base", found(version_id), "a live version (`hone runs checkpoints RUN`)")]
    if not row["stored"]:
        return Base(), [Problem("model.base", f"{version_id}, whose weights were removed", "a version that is kept")]
    return Base(version_id=version_id, adapter=row["adapter"]), []


async def _finished_run(transaction: AsyncTransaction, run_id: str) -> tuple[Base, list[Problem]]:
    run = await transaction.one("gateway.run_state", run_id=run_id)
    if run is None:
        return Base(), [Problem("model.base", found(run_id), "a run (`hone runs list`)")]
    if run["state"] != "succeeded":
        return Base(), [Problem("model.base", f"{run_id}, which is {run['state']}", "a run that succeeded")]
    version = await transaction.one("gateway.newest_version", model_id=run["policy_model_id"])
    if version is None:
        return Base(), [Problem("model.base", f"{run_id}, which has no stored version", "a run with a stored version")]
    return Base(version_id=version["id"], adapter=version["adapter"]), []


def _unadapted(spec: RunSpec, base: Base, problems: list[Problem]) -> tuple[Base, list[Problem]]:
    """Refuse an adapter beside an adapter: nobody could load it."""
    if not base.adapter or spec.model.kind != "lora":
        return base, problems
    return base, [*problems, Problem("model.base", f"{spec.model.base}, which is an adapter beside its base",
                                     "a model of whole weights; or kind: full, which merges the adapter")]


async def _dataset(
    transaction: AsyncTransaction, source: TaskSource, at: str, wanted: set[str],
) -> list[Problem]:
    if source.dataset is None:
        return []
    row = await transaction.one("gateway.artifact", kind="dataset", name=source.dataset)
    if row is None:
        return [Problem(f"{at}.dataset", found(source.dataset), "an uploaded dataset (`hone data list`)")]
    rows, columns = row["manifest"]["rows"], row["manifest"]["columns"]
    return [
        Problem(f"{at}.dataset", f"{source.dataset}, where {columns.get(column, 0)} of {rows} rows have {column}",
                f"{column} in every row")
        for column in sorted(wanted) if columns.get(column, 0) < rows
    ]


def _columns(spec: RunSpec, source: TaskSource, trained: bool) -> set[str]:
    """Name what every row needs: completions to imitate, or what its grader reads."""
    if trained and supervised(spec):
        return {"completion"}
    of_environment = ENVIRONMENTS[source.kind].columns or frozenset()
    if source.environment is not None and spec.grader is None:
        return set(of_environment)
    return {*of_environment} | graders.columns(spec.grader or source.params.get("grader") or {"type": "exact"})
