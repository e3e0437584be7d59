"""/v1/models: base models, from a directory on the gateway's machine or as an upload."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.responses import JSONResponse

from hone.client.artifact_resources import Model, ModelPage
from hone.spec.problems import Invalid, Problem, found, from_validation
from hone.spec.settings import Settings
from hone.store.database import Row
from services.gateway.admission import artifacts, local_folders, model_files
from services.gateway.admission.parameters import Config, Id, Limit, Store, after, page, same
from services.gateway.declarations import needs
from services.gateway.middleware import queries
from services.gateway.middleware.idempotency import Key
from services.gateway.middleware.json_bodies import is_json
from services.gateway.middleware.tenancy import Caller, TenantSession
from services.gateway.openai import names
from services.gateway.openai.refusals import ModelNotFound, unknown_model

Fields = TypeVar("Fields", bound=BaseModel)

router = APIRouter(prefix="/v1/models", tags=["models"])

AfterModel = Annotated[str | None, after(r"(art|run)_\w+")]


class NewModel(BaseModel):
    """A model directory in the layout that transformers writes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: artifacts.Name = Field(description="Name of the model in specs.")
    directory: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")] = Field(
        description="Absolute path on the gateway's machine: below HONE_MODEL_ROOT or, if there is one tenant and no "
        "root, anywhere outside the stack's own directories.")


class UploadedModel(BaseModel):
    """Fields of a multipart upload besides its `files`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: artifacts.Name


_BODY = {"requestBody": {"required": True, "content": {
    "application/json": {
        "schema": NewModel.model_json_schema(),
        "example": {"name": "qwen3-0.6b", "directory": "/models/Qwen3-0.6B"}},
    "multipart/form-data": {"schema": {
        "type": "object", "required": ["name", "files"],
        "properties": {"name": {"type": "string"}, "files": {
            "type": "array", "items": {"type": "string", "format": "binary"}}}},
        "example": {"name": "qwen3-0.6b", "files": ["the bytes of config.json", "the bytes of model.safetensors"]}},
}}}


@router.post("", status_code=201, response_model=Model, responses=same(Model),
             openapi_extra=needs("run", "models") | _BODY)
async def register(
    request: Request, caller: Caller, objects: Store, settings: Config, key: Key = None,
) -> JSONResponse:
    """Register a base model: config.json, safetensors weights and tokenizer.json are checked against each other.

    The same name and content again answers 200 with the stored model.
    """
    async with _offered(request, caller, settings) as (name, directory):
        checked = await asyncio.to_thread(model_files.inspect, directory)
        upload = artifacts.Upload(
            "base_model", name, directory, checked.names, checked.facts.as_json(), {"ignored": checked.ignored})
        return (await artifacts.register(caller, objects, request, key, upload, _resource)).response()


@asynccontextmanager
async def _offered(request: Request, caller: TenantSession, settings: Settings) -> AsyncIterator[tuple[str, Path]]:
    """Yield the name of the model and a directory with its files: uploaded ones, or a directory of this machine."""
    kind = request.headers.get("content-type", "")
    if kind.lower().startswith("multipart/form-data"):
        async with request.form() as form:
            name, files = _form(form)
            async with artifacts.received(files) as directory:
                yield name, directory
    elif is_json(request.headers):
        wanted = _validated(NewModel, await _json(request))
        await local_folders.allow(caller, settings)
        yield wanted.name, await asyncio.to_thread(local_folders.opened, wanted.directory, settings)
    else:
        raise Invalid([Problem("header.Content-Type", found(kind or None), "application/json or multipart/form-data")])


async def _json(request: Request) -> Any:
    try:
        return await request.json()
    except ValueError:
        raise Invalid([Problem("body", "text that is not JSON", "a JSON object")]) from None


def _validated(model: type[Fields], value: Any) -> Fields:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Invalid(from_validation(error, model)) from None


def _form(form: FormData) -> tuple[str, list[UploadFile]]:
    queries.expect_names((name for name, _ in form.multi_items()), ("name", "files"), {"files"})
    files = [value for value in form.getlist("files") if isinstance(value, UploadFile)]
    fields = _validated(UploadedModel, {name: value for name, value in form.items() if name != "files"})
    if not files:
        raise Invalid([Problem("files", "nothing", "the model's files, each a part called files")])
    return fields.name, files


@router.get("", openapi_extra=needs("read", "models"))
async def listed(
    caller: Caller, limit: Limit = 50, after: AfterModel = None,
    registered: Annotated[bool, Query(description="Only registered models, which runs start from.")] = False,
) -> ModelPage:
    """List registered models, newest first, and then runs that answer, newest first."""
    found, of_runs = list[Model](), after if after and after.startswith("run_") else None
    async with caller.transaction() as transaction:
        if of_runs is None:
            rows = await transaction.all("artifacts.page", kind="base_model", after=after, limit=limit + 1)
            found += map(_resource, rows)
        if len(found) <= limit and not registered:
            rows = await transaction.all("asked.policies", after=of_runs, limit=limit + 1 - len(found))
            found += map(_policy, rows)
    shown = page(found, limit, "id")
    return ModelPage(data=shown.data, next=shown.next, has_more=shown.next is not None)


@router.get("/{name:path}", openapi_extra=needs("read", "models"))
async def one(name: Id, caller: Caller) -> Model:
    """Return a registered model by name or id, or a version of a run by any of the names that can be asked."""
    async with caller.transaction() as transaction:
        row = await transaction.one("artifacts.named", kind="base_model", name=name)
        if row is not None:
            return _resource(row)
        try:
            found = await names.locate(transaction, name)
        except ModelNotFound as refusal:
            raise ModelNotFound(f"There is no model {name}.", refusal.problems) from None
        origin = await transaction.one("versions.origin", version_id=found.subject_id)
    if found.run is None or origin is None:
        raise unknown_model(name)
    return _policy({
        "id": found.run["id"] if found.follows else found.subject_id, "name": name, "origin": origin["manifest"],
        "files": found.row["manifest"]["files"], "version_id": found.subject_id, "number": found.row["number"],
        "created_at": found.row["created_at"]})


def _policy(row: Row) -> Model:
    """Return a run's version as the model that clients see."""
    facts = {**row["origin"], "files": row["files"]}
    return Model(**facts, id=row["id"], name=row["name"] or row["id"], created_at=row["created_at"],
                 version_id=row["version_id"], number=row["number"])


def _resource(row: Row) -> Model:
    """Return an artifact's row as the model that clients see."""
    return Model(**row["manifest"], id=row["id"], name=row["name"], ignored=row["report"].get("ignored", []),
                 created_at=row["created_at"])
