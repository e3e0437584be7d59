"""/v1/runs: create runs, read them, change their desired state."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from hone.client.matrix import Matrix
from hone.client.memory import MemoryReport, RecordedTalks
from hone.client.noise import NoiseReport
from hone.client.preflight import PreflightReport
from hone.client.resources import Checkpoint, Desired, Metrics, Page, Run, RunCounts, RunState, RunSummary
from hone.resolution import read
from hone.spec.files import as_json
from hone.spec.problems import Invalid
from hone.spec.run import MOST, RunSpec
from hone.store.database import Row
from services.gateway import matrices, memory_reports, noise_reports, recorded_talks
from services.gateway.admission import graders, packages, refusals
from services.gateway.admission import runs as admission
from services.gateway.admission.parameters import Config, Id, Limit, Store, after, example, page
from services.gateway.declarations import needs
from services.gateway.middleware.idempotency import Key, fingerprint
from services.gateway.middleware.tenancy import Caller
from services.gateway.preflight import report
from services.gateway.preflight.samples import SampleRequest

router = APIRouter(prefix="/v1/runs", tags=["runs"])

AfterVersion = Annotated[str | None, after(r"ver_\w+")]
AfterRun = Annotated[str | None, after(r"run_\w+")]

MOST_POINTS = 200_000
"""Points of an answer with metrics: a few MB."""
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
class Resolved(BaseModel):
    """The answer to a dry run: the spec with every default filled in, and what the run would be told."""

    spec: dict[str, Any]
    warnings: list[str]
    notes: list[str]


_DRY: dict[int | str, dict[str, Any]] = {200: {
    "model": Resolved | PreflightReport, "description": "Nothing was created: the answer to a dry run."}}
_SCHEMA = {"requestBody": {"required": True, "content": {"application/json": {
    "schema": {**RunSpec.model_json_schema(), "title": "NewRun"}, "examples": EXAMPLES}}}}


DryRun = Annotated[Literal["false", "true", "deep"], BeforeValidator(
    lambda given: {"0": "false", "1": "true"}.get(given, given)), Query(
    description="true: answer with the resolved spec and with notes on its datasets, and create nothing. deep: have "
    "the base answer the first tasks, and answer with a report about the run.")]
Samples = Annotated[int, Query(
    ge=2, le=64, multiple_of=2, description="Of a deep dry run: samples of the base, two of each task.")]
DeadlineS = Annotated[float, Query(
    ge=5, le=900, description="Of a deep dry run: seconds within which the samples are made.")]

HeldOut = Annotated[Literal["sampled", "greedy"], Query(description="The held-out answers that are scored.")]


class DesiredState(BaseModel):
    """The state that a run is to reach."""

    model_config = ConfigDict(extra="forbid")

    desired: Desired


class RunBudget(BaseModel):
    """Money that a run may cost, by the prices of the stack."""

    model_config = ConfigDict(extra="forbid", strict=True)

    budget: float | None = Field(ge=0, le=1e15, allow_inf_nan=False)


@router.post("", status_code=201, response_model=Run, responses=_DRY, openapi_extra=needs("run", "runs") | _SCHEMA)
async def create(
    request: Request, raw: Annotated[dict[str, Any], Body()], caller: Caller, settings: Config, objects: Store,
    dry_run: DryRun = "false", samples: Samples = 8, deadline_s: DeadlineS = 120.0, key: Key = None,
) -> JSONResponse:
    """Create a run from its spec. A refusal (422) names every problem of the spec at once.

    A deep dry run answers with a report (200): first prompts, lengths, graded samples of the base, and findings with
    what to do about each. It is also the answer where findings are errors.
    """
    named = await packages.pinned(caller, await graders.filled(caller, raw))
    reading = await run_in_threadpool(read, named)
    if reading.problems:
        raise Invalid(await refusals.problems(caller, objects, settings, reading))
    spec = reading.spec
    if dry_run == "deep":
        asked = SampleRequest(samples // 2, 2, deadline_s)
        found = await report.make(caller, objects, settings, spec, asked)
        return JSONResponse(found.model_dump(mode="json"))
    if dry_run == "true":
        warnings, notes = await admission.check(caller, objects, settings, spec)
        return JSONResponse(Resolved(spec=as_json(spec), warnings=warnings, notes=notes).model_dump(mode="json"))
    answer = await admission.create(caller, objects, settings, spec, key, fingerprint(request, raw))
    return answer.response()


@router.get("", openapi_extra=needs("read", "runs"))
async def listed(
    caller: Caller, limit: Limit = 50, after: AfterRun = None,
    state: Annotated[RunState | None, Query(description="Only runs in this state.")] = None,
    like: Annotated[str | None, Query(
        description="Id of a run: only runs with the same spec except for seed and name.",
        pattern=r"^\w+$")] = None,
    base: Annotated[list[Text] | None, Query(description="Only runs with one of these bases in their spec.")] = None,
    search: Annotated[Text | None, Query(
        description="Part of a name, an id or a base; upper and lower case are the same.")] = None,
) -> Page[RunSummary]:
    """List runs, newest first."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("runs.page", state=state, like=like, base=base, search=search, after=after,
                                     limit=limit + 1)
    return page([RunSummary.model_validate(row) for row in rows], limit, "id")


@router.get("/counts", openapi_extra=needs("read", "runs"))
async def counts(caller: Caller) -> RunCounts:
    """Return the number of runs in each state."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("runs.count_by_state")
    return RunCounts(**{row["state"]: row["runs"] for row in rows})


@router.get("/{run_id}", openapi_extra=needs("read", "runs"))
async def one(run_id: Id, caller: Caller) -> Run:
    """Return a run: its state, what it waits for, its committed steps, the latest value of every metric."""
    async with caller.transaction() as transaction:
        return Run.model_validate(await admission.row_of(transaction, run_id))


@router.patch("/{run_id}", openapi_extra=needs("run", "runs", {"desired": "pause"}))
async def change(run_id: Id, wanted: DesiredState, caller: Caller) -> Run:
    """Set the desired state of a run: run, pause or cancel. A cancelled run cannot be resumed."""
    return await admission.want(caller, run_id, wanted.desired)


@router.put("/{run_id}/budget", openapi_extra=needs("admin", "runs", {"budget": 12.5}))
async def set_budget(run_id: Id, wanted: RunBudget, caller: Caller) -> Run:
    """Set what a run may cost. A run that its budget paused goes on when there is more. Null: no bound."""
    return await admission.set_budget(caller, run_id, wanted.budget)


@router.post("/{run_id}/pause", openapi_extra=needs("run", "runs"))
async def pause(run_id: Id, caller: Caller) -> Run:
    """Pause a run after its present step."""
    return await admission.want(caller, run_id, "pause")


@router.post("/{run_id}/resume", openapi_extra=needs("run", "runs"))
async def resume(run_id: Id, caller: Caller) -> Run:
    """Resume a paused run."""
    return await admission.want(caller, run_id, "run")


@router.post("/{run_id}/cancel", openapi_extra=needs("run", "runs"))
async def cancel(run_id: Id, caller: Caller) -> Run:
    """Cancel a run for good. Its checkpoints stay."""
    return await admission.want(caller, run_id, "cancel")


@router.get("/{run_id}/metrics", openapi_extra=needs("read", "metrics"))
async def metrics(
    run_id: Id, caller: Caller,
    names: Annotated[list[Text] | None, Query(description="Only these series; all when absent.")] = None,
    after_step: Annotated[int, Query(ge=-1, le=MOST, description="Only steps after this step.")] = -1,
) -> Metrics:
    """Return series of metrics by step. Of long series the first steps: `next` is the `after_step` of the others."""
    async with caller.transaction() as transaction:
        await admission.row_of(transaction, run_id)
        rows = await transaction.all("metrics.series", run_id=run_id, names=names, after_step=after_step,
                                     most=MOST_POINTS)
    return Metrics(series={row["name"]: row["points"] for row in rows}, next=rows[0]["next"] if rows else None)


@router.get("/{run_id}/noise", openapi_extra=needs("read", "reports"))
async def noise(
    run_id: Id, caller: Caller, objects: Store,
    step: Annotated[int | None, Query(ge=0, lt=2**31, description="Step of the evaluation; when absent, the newest "
                                      "evaluation with noise.")] = None,
) -> NoiseReport:
    """Return the effects of each type of noise of `eval.noise` on the held-out answers, beside their clean twins."""
    async with caller.transaction() as transaction:
        spec = RunSpec.model_validate((await admission.row_of(transaction, run_id))["spec"])
        found = await transaction.all("trajectories.of_noise", run_id=run_id, step=step,
                                      limit=noise_reports.MOST_SAMPLES + 1)
        judged = noise_reports.judged_groups(spec, found)
        components = await transaction.all("grades.components", group_ids=judged) if judged else []
    return await run_in_threadpool(noise_reports.make, objects, run_id, spec, found, components)


OfEvaluation = Annotated[
    int | None, Query(ge=0, lt=2**31, description="Step of the evaluation; when absent, the newest evaluation.")]


@router.get("/{run_id}/memory", openapi_extra=needs("read", "reports"))
async def memory(
    run_id: Id, caller: Caller, objects: Store, step: OfEvaluation = None, series: HeldOut = "sampled",
) -> MemoryReport:
    """Return the memory of a policy about changing users, and its failures, by source and period.

    Intervals are of 95 %, over lives.
    """
    spec, found = await _of_changing_users(caller, run_id, step, series)
    return await run_in_threadpool(memory_reports.make, objects, run_id, spec, series, found)


@router.get("/{run_id}/talks", openapi_extra=needs("read", "reports"))
async def talks(
    run_id: Id, caller: Caller, objects: Store, step: OfEvaluation = None, series: HeldOut = "sampled",
) -> RecordedTalks:
    """Return the policy's replies to changing users, as rows of the environment `changing_user`.

    A dataset of them feeds these talks to the memory of another policy, which answers probes and writes alone.
    """
    _, found = await _of_changing_users(caller, run_id, step, series)
    return await run_in_threadpool(recorded_talks.make, objects, run_id, series, found)


async def _of_changing_users(
    caller: Caller, run_id: str, step: int | None, series: str
) -> tuple[RunSpec, list[Row]]:
    """Return a run's spec, and the samples of an evaluation by its sources of changing users; one too many, or none."""
    async with caller.transaction() as transaction:
        spec = RunSpec.model_validate((await admission.row_of(transaction, run_id))["spec"])
        names = [one.name for one in memory_reports.asked(spec)]
        found = await transaction.all("trajectories.of_memory", run_id=run_id, step=step, series=series, sources=names,
                                      limit=memory_reports.MOST_SAMPLES + 1) if names else []
    return spec, found


@router.get("/{run_id}/matrix", openapi_extra=needs("read", "reports"))
async def matrix(
    run_id: Id, caller: Caller,
    series: HeldOut = "sampled",
) -> Matrix:
    """Return the scores of each source of held-out tasks after each stage, with gains, forgetting and transfer.

    Intervals are of 95 %, by a bootstrap over tasks, paired where two rows are compared.
    """
    async with caller.transaction() as transaction:
        spec = RunSpec.model_validate((await admission.row_of(transaction, run_id))["spec"])
        found = await transaction.all("evaluations.at_steps", run_id=run_id, series=series, steps=matrices.steps(spec))
    return await run_in_threadpool(matrices.make, run_id, spec, series, found)


@router.get("/{run_id}/checkpoints", openapi_extra=needs("read", "checkpoints"))
async def checkpoints(run_id: Id, caller: Caller, limit: Limit = 50, after: AfterVersion = None) -> Page[Checkpoint]:
    """List the versions of the run's policy, newest first. Number n follows step n; number 0 is the base."""
    async with caller.transaction() as transaction:
        run = await admission.row_of(transaction, run_id)
        rows = await transaction.all("versions.page", model_id=run["model_id"], after=after, limit=limit + 1)
    return page([Checkpoint.model_validate(row) for row in rows], limit, "id")
