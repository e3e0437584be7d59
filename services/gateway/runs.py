"""/v1/runs: what is wanted of a run is written here; what becomes of it is its driver's to write."""

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from hone import ids
from hone.client.resources import Checkpoint, Desired, Metrics, Page, Run, RunCounts, RunState, RunSummary
from hone.crashpoints import reach
from hone.spec.problems import Invalid
from hone.spec.resolution import as_json, canonical, resolve
from hone.spec.run import MOST, RunSpec
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction, Row
from hone.telemetry import tracing
from services.gateway import references, task_rows
from services.gateway.bases import Base
from services.gateway.errors import Conflict, NotFound
from services.gateway.idempotency import Answer, Key, fingerprint, once, stored
from services.gateway.parameters import After, Config, Id, Limit, Store, example, page
from services.gateway.references import References
from services.gateway.task_rows import Sifted
from services.gateway.tenancy import Caller, Session

router = APIRouter(prefix="/v1/runs", tags=["runs"])

Text = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]+$")]

EXAMPLES = {
    "rl": example({
        "name": "sort digits", "model": {"base": "run_…"}, "algorithm": "grpo", "steps": 150,
        "task": {"environment": "sort_digits", "params": {"digits": 6}},
        "batch": {"prompts": 64, "samples": 8}, "optimizer": {"lr": 2e-4, "schedule": "linear"},
    }, "Reinforcement learning in an environment"),
    "sft": example({
        "name": "warm start", "model": {"base": "my-base"}, "algorithm": "sft", "steps": 75,
        "task": {"dataset": "demonstrations"}, "batch": {"prompts": 128}, "optimizer": {"lr": 2e-3},
    }, "Supervised, from a dataset with completions"),
}
_SCHEMA = {"requestBody": {"required": True, "content": {"application/json": {
    "schema": RunSpec.model_json_schema(), "examples": EXAMPLES}}}}


class Wish(BaseModel):
    """What is wanted of a run from now on."""

    model_config = ConfigDict(extra="forbid")

    desired: Desired


@router.post("", status_code=201, response_model=Run, openapi_extra=_SCHEMA)
async def create(
    request: Request, raw: Annotated[dict[str, Any], Body()], caller: Caller, settings: Config, objects: Store,
    dry_run: Annotated[bool, Query(description="Answer with the resolved spec and create nothing.")] = False,
    key: Key = None,
) -> JSONResponse:
    """Create a run from its spec. Every problem with the spec is named at once (422)."""
    spec = await run_in_threadpool(resolve, raw)
    request_sha = fingerprint(request, raw)
    if not dry_run and (known := await stored(caller, key, request_sha)):
        return known.response()  # a retry reads no dataset, and needs no object store
    sifted = await task_rows.sift(caller, objects, spec)
    async with caller.transaction() as transaction:
        if dry_run:
            await _references(transaction, spec, settings, sifted)
            return JSONResponse({"spec": as_json(spec)})

        async def work() -> Answer:
            named = await _references(transaction, spec, settings, sifted)
            return await _insert(transaction, caller, spec, named)

        answer = await once(caller, transaction, key, request_sha, work)
    reach("run.row-answer")
    return answer.response()


async def _references(
    transaction: AsyncTransaction, spec: RunSpec, settings: Settings, sifted: list[Sifted]
) -> References:
    named, problems = await references.resolve(transaction, spec, settings, sifted)
    if problems:
        raise Invalid(problems)
    return named


async def _insert(transaction: AsyncTransaction, session: Session, spec: RunSpec, named: References) -> Answer:
    run_id, content = ids.new("run"), as_json(spec)
    kept = ("seed", "optimizer", "critic", "snapshot_every", "keep_versions", "checkpoint_every")
    config = {name: content[name] for name in kept}
    policy = {**config, "base": spec.model.base, "lora": content["model"]["lora"]}
    model_id = await _model(transaction, session, named.base, spec.model.kind, policy)
    frozen = {**config, "critic": None, "lora": None, "frozen": True}
    roles = {role: await _model(transaction, session, base, "full", {**frozen, "base": spec.roles.models[role]})
             for role, base in named.roles.items()}
    await transaction.run(
        "gateway.add_run", id=run_id, tenant_id=session.tenant_id, key_id=session.key_id, name=spec.name,
        spec=Jsonb(content), spec_sha=hashlib.sha256(canonical(content).encode()).hexdigest(), model_id=model_id,
        roles=Jsonb(roles), deadline_s=spec.deadline_s, traceparent=tracing.current())
    await _tell(transaction, session, run_id, "created", f"run {spec.name} was created")
    for message in named.bad_rows:
        await _tell(transaction, session, run_id, "bad_rows", message)
    return Answer(201, resource(await _row(transaction, run_id)).model_dump(mode="json"))


async def _model(
    transaction: AsyncTransaction, session: Session, base: Base, kind: str, config: dict[str, Any]
) -> str:
    """Add a model of a run and return its id; a `frozen` one is published as it is and never trained."""
    model_id = ids.new("model")
    await transaction.run(
        "gateway.add_model", id=model_id, tenant_id=session.tenant_id, kind=kind,
        base_artifact_id=base.artifact_id, base_version_id=base.version_id, config=Jsonb(config))
    return model_id


async def _tell(transaction: AsyncTransaction, session: Session, run_id: str, kind: str, message: str) -> None:
    await transaction.run("gateway.add_event", tenant_id=session.tenant_id, run_id=run_id, kind=kind, message=message,
                          data=Jsonb({"key_id": session.key_id}))
    await transaction.one("gateway.hint", channel="runs", payload=run_id)


async def _row(transaction: AsyncTransaction, run_id: str) -> Row:
    row = await transaction.one("gateway.run", run_id=run_id)
    if row is None:
        raise unknown(run_id)
    return row


def unknown(run_id: str) -> NotFound:
    """Return the refusal of a run id that is no run of this tenant."""
    return NotFound(f"There is no run {run_id}.")


def resource(row: Row) -> Run:
    """Return a run's row as clients see it."""
    return Run.model_validate(row)


@router.get("")
async def listed(
    caller: Caller, limit: Limit = 50, after: After = None,
    state: Annotated[RunState | None, Query(description="Only runs in this state.")] = None,
    like: Annotated[str | None, Query(
        description="Only runs that differ from this one in seed and name alone.", pattern=r"^\w+$")] = None,
    base: Annotated[list[Text] | None, Query(description="Only runs whose spec names one of these as base.")] = None,
    search: Annotated[Text | None, Query(description="Part of a name, an id or a base; case aside.")] = None,
) -> Page[RunSummary]:
    """List runs, newest first."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("gateway.runs", state=state, like=like, base=base, search=search, after=after,
                                     limit=limit + 1)
    return page([RunSummary.model_validate(row) for row in rows], limit, "id")


@router.get("/counts")
async def counts(caller: Caller) -> RunCounts:
    """Return how many runs are in each state."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("gateway.run_counts")
    return RunCounts(**{row["state"]: row["runs"] for row in rows})


@router.get("/{run_id}")
async def one(run_id: Id, caller: Caller) -> Run:
    """Return a run: state, what it waits for, committed steps, the latest value of every metric."""
    async with caller.transaction() as transaction:
        return resource(await _row(transaction, run_id))


@router.patch("/{run_id}")
async def change(run_id: Id, wish: Wish, caller: Caller) -> Run:
    """Say what is wanted: run, pause or cancel. Cancelling is for good."""
    return await _want(caller, run_id, wish.desired)


@router.post("/{run_id}/pause")
async def pause(run_id: Id, caller: Caller) -> Run:
    """Let the present step end and hold the run there."""
    return await _want(caller, run_id, "pause")


@router.post("/{run_id}/resume")
async def resume(run_id: Id, caller: Caller) -> Run:
    """Let a paused run go on."""
    return await _want(caller, run_id, "run")


@router.post("/{run_id}/cancel")
async def cancel(run_id: Id, caller: Caller) -> Run:
    """End a run for good; its checkpoints stay."""
    return await _want(caller, run_id, "cancel")


async def _want(session: Session, run_id: str, desired: Desired) -> Run:
    async with session.transaction() as transaction:
        before = await _row(transaction, run_id)
        if not await transaction.run("gateway.want", run_id=run_id, desired=desired):
            raise Conflict(f"Run {run_id} is {before['state']} and wanted to {before['desired']}; "
                           f"it cannot be changed to {desired}.")
        if before["desired"] != desired:
            await _tell(transaction, session, run_id, "desired", f"wanted from now on: {desired}")
        return resource(await _row(transaction, run_id))


@router.get("/{run_id}/metrics")
async def metrics(
    run_id: Id, caller: Caller,
    names: Annotated[list[Text] | None, Query(description="Only these series; all when absent.")] = None,
    after_step: Annotated[int, Query(ge=-1, le=MOST, description="Only steps after this one.")] = -1,
) -> Metrics:
    """Return series of metrics by step."""
    async with caller.transaction() as transaction:
        await _row(transaction, run_id)
        rows = await transaction.all("gateway.metrics", run_id=run_id, names=names, after_step=after_step)
    return Metrics(series={row["name"]: row["points"] for row in rows})


@router.get("/{run_id}/checkpoints")
async def checkpoints(run_id: Id, caller: Caller, limit: Limit = 50, after: After = None) -> Page[Checkpoint]:
    """List the versions of the run's policy, newest first; number n follows step n, 0 is the base."""
    async with caller.transaction() as transaction:
        run = await _row(transaction, run_id)
        rows = await transaction.all("gateway.checkpoints", model_id=run["model_id"], after=after, limit=limit + 1)
    return page([Checkpoint.model_validate(row) for row in rows], limit, "id")
