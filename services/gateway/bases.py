"""Where a model of a run starts: what a spec calls by name, version id or run id."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.spec.problems import Problem, found
from hone.store.database import AsyncTransaction, Row


@dataclass(frozen=True)
class Base:
    """A registered model or a version, one of them, and what tells whether two fit together."""

    artifact_id: str | None = None
    version_id: str | None = None
    adapter: bool = False
    tokenizer: str | None = None  # digest of its tokenizer.json
    vocab_size: int = 0
    max_positions: int = 0


async def resolve(transaction: AsyncTransaction, name: str, at: str) -> Base | Problem:
    """Return what `name` names, or what is wrong with it; `at` is where in the spec it stands."""
    if name.startswith("ver_"):
        return await _version(transaction, name, at)
    if name.startswith("run_"):
        return await _finished_run(transaction, name, at)
    row = await transaction.one("gateway.artifact", kind="base_model", name=name)
    if row is None:
        return Problem(at, found(name), "a model, version or run that is here (`hone models list`)")
    tokenizer = row["manifest"]["files"].get("tokenizer.json", {}).get("sha256")
    return Base(row["id"], None, False, tokenizer, *_facts(row["manifest"]))


async def _version(transaction: AsyncTransaction, version_id: str, at: str) -> Base | Problem:
    row = await transaction.one("gateway.version", version_id=version_id)
    if row is None:
        return Problem(at, found(version_id), "a live version (`hone runs checkpoints RUN`)")
    if not row["stored"]:
        return Problem(at, f"{version_id}, whose weights were removed", "a version that is kept")
    return await _of_version(transaction, row)


async def _finished_run(transaction: AsyncTransaction, run_id: str, at: str) -> Base | Problem:
    run = await transaction.one("gateway.run_state", run_id=run_id)
    if run is None:
        return Problem(at, found(run_id), "a run (`hone runs list`)")
    if run["state"] != "succeeded":
        return Problem(at, f"{run_id}, which is {run['state']}", "a run that succeeded")
    row = await transaction.one("gateway.newest_version", model_id=run["policy_model_id"])
    if row is None:
        return Problem(at, f"{run_id}, which has no stored version", "a run with a stored version")
    return await _of_version(transaction, row)


async def _of_version(transaction: AsyncTransaction, row: Row) -> Base:
    """Return a version as a base: training changes neither vocabulary nor positions of the model it goes back to."""
    origin = await transaction.one("gateway.origin", version_id=row["id"])
    return Base(None, row["id"], row["adapter"], row["tokenizer"], *_facts(origin["manifest"] if origin else {}))


def _facts(manifest: Mapping[str, Any]) -> tuple[int, int]:
    return manifest.get("vocab_size", 0), manifest.get("max_positions", 0)
