"""/v1/datasets: JSONL files, every row checked before any is stored."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, UploadFile
from starlette.responses import JSONResponse

from hone.client.resources import Dataset, Page
from hone.spec.problems import Invalid, Problem
from hone.store.database import Row
from services.gateway import artifacts, dataset_rows
from services.gateway.dataset_rows import Report
from services.gateway.errors import Unusable
from services.gateway.idempotency import Key, fingerprint
from services.gateway.parameters import After, Id, Limit, Store
from services.gateway.tenancy import Caller
from services.gateway.uploads import received

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])

ROWS = "rows.jsonl"


@router.post("", status_code=201, response_model=Dataset)
async def upload(
    request: Request, caller: Caller, objects: Store,
    name: Annotated[artifacts.Name, Form(description="What specs call it.")],
    file: Annotated[UploadFile, Form(description="One JSON object a line: prompt or messages, answer or completion.")],
    allow_bad_rows: Annotated[bool, Form(description="Store the good rows when some are bad.")] = False,
    key: Key = None,
) -> JSONResponse:
    """Upload a dataset. Bad rows refuse it with a report (422), unless `allow_bad_rows` keeps the good ones."""
    async with received([file]) as directory:
        report = await asyncio.to_thread(_check, next(directory.iterdir()), directory)
        _refuse(report, allow_bad_rows)
        facts = {"rows": report.good, "columns": dict(sorted(report.columns.items()))}
        dataset = artifacts.Upload("dataset", name, directory, [ROWS], facts, report.as_json())
        sha = partial(_sha, request, name)
        return (await artifacts.register(caller, objects, dataset, key, sha, resource)).response()


def _sha(request: Request, name: str, content: str) -> bytes:
    return fingerprint(request, [name, content])


def _check(uploaded: Path, directory: Path) -> Report:
    with uploaded.open("rb") as file:
        good, report = dataset_rows.check(file)
    (directory / ROWS).write_bytes(b"".join(good))
    return report


def _refuse(report: Report, allow_bad_rows: bool) -> None:
    if not report.good:
        problems = [_placed(row, problem) for row, problem in report.problems]
        raise Invalid(problems or [Problem("file", "no rows", "at least one row")])
    if report.bad and not allow_bad_rows:
        raise Unusable(
            f"{report.bad} of {report.rows} rows are bad; allow_bad_rows would store the other {report.good}.",
            [_placed(row, problem) for row, problem in report.problems], extra={"report": report.as_json()})


def _placed(row: int, problem: Problem) -> Problem:
    return Problem(f"row {row}: {problem.field}", problem.found, problem.expected)


@router.get("")
async def listed(caller: Caller, limit: Limit = 50, after: After = None) -> Page[Dataset]:
    """List datasets, newest first."""
    return await artifacts.listed(caller, "dataset", resource, limit, after)


@router.get("/{name:path}")
async def one(name: Id, caller: Caller) -> Dataset:
    """Return one dataset by name or id, with the report of its rows."""
    return resource(await artifacts.found(caller, "dataset", name))


def resource(row: Row) -> Dataset:
    """Return an artifact's row as the dataset that clients see."""
    facts: dict[str, Any] = {**row["manifest"], "report": row["report"]}
    return Dataset(**facts, id=row["id"], name=row["name"], created_at=row["created_at"])
