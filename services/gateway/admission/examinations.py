"""Examinations: runs that train nothing, and whose evaluation asks the tasks of a benchmark."""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from hone.client.artifact_resources import Dataset
from hone.environments.benchmarks import Benchmark
from hone.spec.problems import Invalid, Problem
from hone.spec.settings import Settings
from hone.store.database import Row
from hone.store.objects import Objects
from services.gateway.admission import artifacts, dataset_rows, task_rows
from services.gateway.admission.dataset_rows import RowBounds
from services.gateway.middleware.tenancy import TenantSession

_FIELDS = {"model.base": "model", "eval.samples": "samples", "sampling.max_tokens": "max_tokens", "eval.noise": "noise"}
"""Beginning of a field of the spec -> that of the request."""


class WantedExamination(BaseModel):
    """A model that is to be examined."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(min_length=1, max_length=300, description="Name of a registered model, id of a version (ver_…), "
                       "or id of a finished run (run_…).")
    samples: int = Field(1, ge=1, le=64, description="Sampled answers to each task, in addition to a greedy answer.")
    max_tokens: int = Field(256, ge=1, le=2**31 - 1, description="Longest answer of a call, in tokens.")
    name: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        None, description="Name of the run; null: that of the benchmark and the model.")
    harness: dict[str, Any] | None = Field(
        None, description="Harness with its name and params, as in a spec; null: the environment's own.")
    noise: dict[str, Any] | None = Field(
        None, description="eval.noise of the run: the tasks are answered under noise, too; null: not.")


def spec(benchmark: Benchmark, wanted: WantedExamination) -> dict[str, Any]:
    """Return the spec of the run. Its task is never drawn: it says by which harness answers are asked for."""
    own = {name: value for name, value in (("harness", wanted.harness),) if value is not None}
    noise = {} if wanted.noise is None else {"noise": wanted.noise}
    return {"name": wanted.name or f"{benchmark.name} benchmark of {wanted.model}"[:200], "steps": 0,
            "model": {"base": wanted.model}, "task": {"environment": benchmark.environment},
            "sampling": {"max_tokens": wanted.max_tokens}, **own,
            "eval": {"prompts": len(benchmark.by_hash), "samples": wanted.samples, **noise,
                     "source": {"environment": benchmark.environment, "dataset": benchmark.dataset}}}


def refused(error: Invalid) -> Invalid:
    """Return a refusal of the spec that names the fields of the request."""
    return Invalid([Problem(_named(one.field), one.found, one.expected) for one in error.problems])


def _named(field: str) -> str:
    return next((f"{own}{field.removeprefix(of)}" for of, own in _FIELDS.items() if field.startswith(of)), field)


async def keep_rows(
    session: TenantSession, objects: Objects, settings: Settings, request: Request, benchmark: Benchmark,
) -> None:
    """Keep the benchmark's rows as a dataset of the tenant, unless it has it. Raises Conflict for a name that is taken.
    """
    bounds = RowBounds.of(settings)
    with tempfile.TemporaryDirectory(prefix="hone-benchmark-") as name:
        directory = Path(name)
        report = await run_in_threadpool(_write, benchmark, directory / task_rows.FILE, bounds)
        dataset = artifacts.Upload(
            "dataset", benchmark.dataset, directory, [task_rows.FILE], report.facts(), report.as_json())
        await artifacts.register(session, objects, request, None, dataset, _resource)


def _write(benchmark: Benchmark, target: Path, bounds: RowBounds) -> dataset_rows.RowChecks:
    lines = [json.dumps(one.row, ensure_ascii=False).encode() + b"\n" for one in benchmark.by_hash.values()]
    source = target.with_suffix(".source")
    source.write_bytes(b"".join(lines))
    with source.open("rb") as file, target.open("wb") as sink:
        return dataset_rows.check(bounds.lines(file), sink.write, bounds)


def _resource(row: Row) -> Dataset:
    facts: dict[str, Any] = {**row["manifest"], "report": row["report"]}
    return Dataset(**facts, id=row["id"], name=row["name"], created_at=row["created_at"])
