"""/v1/datasets: JSONL files. Every row is checked before any is stored."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, UploadFile
from starlette.responses import JSONResponse

from hone.client.resources import Dataset, Page
from hone.spec.problems import Invalid, Problem
from hone.store.database import Row
from services.gateway.admission import artifacts, dataset_rows, task_rows
from services.gateway.admission.dataset_rows import RowChecks
from services.gateway.admission.parameters import After, Id, Limit, Store
from services.gateway.middleware.errors import Unusable
from services.gateway.middleware.idempotency import Key
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])


@router.post("", status_code=201, response_model=Dataset)
async def upload(
    request: Request, caller: Caller, objects: Store,
    name: Annotated[artifacts.Name, Form(description="Name of the dataset in specs.")],
    file: Annotated[UploadFile, Form(
        description="One JSON object per line: prompt or messages, answer or completion.")],
    allow_bad_rows: Annotated[bool, Form(description="Store the good rows when some are bad.")] = False,
    key: Key = None,
) -> JSONResponse:
    """Upload a dataset. Bad rows refuse it with a report (422), unless `allow_bad_rows` keeps the good ones."""
    async with artifacts.received([file]) as directory:
        report = await asyncio.to_thread(_check, next(directory.iterdir()), directory)
        _refuse(report, allow_bad_rows)
        facts = {"rows": report.good, "columns": dict(sorted(report.columns.items()))}
        dataset = artifacts.Upload("dataset", name, directory, [task_rows.FILE], facts, report.as_json())
        return (await artifacts.register(caller, objects, request, key, dataset, _resource)).response()


def _check(uploaded: Path, directory: Path) -> RowChecks:
    """Write the good rows of the uploaded file into the directory and return the report on all rows."""
    with uploaded.open("rb") as file:
        good, report = dataset_rows.check(file)
    (directory / task_rows.FILE).write_bytes(b"".join(good))
    return report


def _refuse(report: RowChecks, allow_bad_rows: bool) -> None:
    """Raise Invalid when no row is good, and Unusable when some are bad and that is not allowed."""
    problems = [Problem(f"row {row}: {problem.field}", problem.found, problem.expected)
                for row, problem in report.problems]
    if not report.good:
        raise Invalid(problems or [Problem("file", "no rows", "at least one row")])
    if report.bad and not allow_bad_rows:
        raise Unusable(
            f"{report.bad} of {report.rows} rows are bad; allow_bad_rows would store the other {report.good}.",
            problems, extra={"report": report.as_json()})


@router.get("")
async def listed(caller: Caller, limit: Limit = 50, after: After = None) -> Page[Dataset]:
    """List datasets, newest first."""
    return await artifacts.listed(caller, "dataset", _resource, limit, after)


@router.get("/{name:path}")
async def one(name: Id, caller: Caller) -> Dataset:
    """Return one dataset by name or id, with the report on its rows."""
    return _resource(await artifacts.row_of(caller, "dataset", name))


def _resource(row: Row) -> Dataset:
    """Return an artifact's row as the dataset that clients see."""
    facts: dict[str, Any] = {**row["manifest"], "report": row["report"]}
    return Dataset(**facts, id=row["id"], name=row["name"], created_at=row["created_at"])
