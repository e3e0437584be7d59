"""/v1/datasets: JSONL files. Every row is checked before any is stored."""

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from starlette.responses import JSONResponse

from hone.client.artifact_resources import Dataset
from hone.client.resources import Page
from hone.store.database import Row
from services.gateway.admission import artifacts, dataset_rows, task_rows
from services.gateway.admission.dataset_rows import RowBounds, RowChecks
from services.gateway.admission.parameters import Config, Id, Limit, Store, after, same
from services.gateway.declarations import needs
from services.gateway.middleware import queries
from services.gateway.middleware.idempotency import Key
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])

AfterArtifact = Annotated[str | None, after(r"art_\w+")]

_FIELDS = ("name", "file", "allow_bad_rows")


@router.post("", status_code=201, response_model=Dataset, responses=same(Dataset),
             openapi_extra=needs("run", "datasets", {
                 "name": "sums", "file": '{"prompt": "1 + 1 =", "answer": "2"}'}, "multipart/form-data"))
async def upload(
    request: Request, caller: Caller, objects: Store, settings: Config,
    name: Annotated[artifacts.Name, Form(description="Name of the dataset in specs.")],
    file: Annotated[UploadFile, File(
        json_schema_extra={"format": "binary"},  # without it some generators send the name of the file's object
        description="One JSON object per line: prompt or messages, answer or completion.")],
    allow_bad_rows: Annotated[bool, Form(description="Store the good rows when some are bad.")] = False,
    key: Key = None,
) -> JSONResponse:
    """Upload a dataset. Bad rows refuse it with a report (422), unless `allow_bad_rows` keeps the good ones."""
    queries.expect_names((given for given, _ in (await request.form()).multi_items()), _FIELDS, ())
    async with artifacts.received([file]) as directory:
        bounds = RowBounds.of(settings)
        report = await task_rows.read_apart(caller.tenant_id, _check, next(directory.iterdir()), directory, bounds)
        dataset_rows.refuse(report, allow_bad_rows)
        dataset = artifacts.Upload("dataset", name, directory, [task_rows.FILE], report.facts(), report.as_json())
        return (await artifacts.register(caller, objects, request, key, dataset, _resource)).response()


def _check(uploaded: Path, directory: Path, bounds: RowBounds) -> RowChecks:
    """Write the good rows of the uploaded file into the directory and return the report on all rows."""
    good = directory / f".{task_rows.FILE}"  # the uploaded file may have the name of the rows
    with uploaded.open("rb") as file, good.open("wb") as sink:
        report = dataset_rows.check(bounds.lines(file), sink.write, bounds)
    good.rename(directory / task_rows.FILE)
    return report


@router.get("", openapi_extra=needs("read", "datasets"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterArtifact = None) -> Page[Dataset]:
    """List datasets, newest first."""
    return await artifacts.listed(caller, "dataset", _resource, limit, after)


@router.get("/{name:path}", openapi_extra=needs("read", "datasets"))
async def one(name: Id, caller: Caller) -> Dataset:
    """Return one dataset by name or id, with the report on its rows."""
    return _resource(await artifacts.row_of(caller, "dataset", name))


def _resource(row: Row) -> Dataset:
    """Return an artifact's row as the dataset that clients see."""
    facts: dict[str, Any] = {**row["manifest"], "report": row["report"]}
    return Dataset(**facts, id=row["id"], name=row["name"], created_at=row["created_at"])
