"""/v1/benchmarks: frozen tasks, examinations of models by them, and the leaderboards that follow."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from hone.client.benchmark_resources import Benchmark, Examination, Leaderboard
from hone.client.resources import Page, Run
from hone.environments import benchmarks
from hone.resolution import read
from hone.spec.problems import Invalid
from hone.spec.run import MOST
from hone.store.database import AsyncTransaction, Row
from services.gateway import leaderboards
from services.gateway.admission import examinations, refusals
from services.gateway.admission import runs as admission
from services.gateway.admission.examinations import WantedExamination
from services.gateway.admission.parameters import Config, Id, Store
from services.gateway.declarations import needs
from services.gateway.leaderboards import MOST_ANSWERS, MOST_RUNS, Prices
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.idempotency import Key, fingerprint
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/benchmarks", tags=["benchmarks"])

Series = Annotated[Literal["sampled", "greedy"], Query(description="The answers that count.")]


@router.get("", openapi_extra=needs("read", "benchmarks"))
async def listed() -> Page[Benchmark]:
    """List every benchmark."""
    return Page(data=[leaderboards.resource(one) for one in benchmarks.BENCHMARKS.values()])


@router.get("/{name}", openapi_extra=needs("read", "benchmarks"))
async def one(name: Id) -> Benchmark:
    """Return a benchmark."""
    return leaderboards.resource(_known(name))


@router.post("/{name}/examinations", status_code=201, response_model=Run,
             openapi_extra=needs("run", "benchmarks", {"model": "my-base", "samples": 4}))
async def examine(
    name: Id, wanted: WantedExamination, request: Request, caller: Caller, settings: Config, objects: Store,
    key: Key = None,
) -> JSONResponse:
    """Have a model examined: a run that trains nothing answers every task. The rows become a dataset of yours."""
    benchmark = _known(name)
    await examinations.keep_rows(caller, objects, settings, request, benchmark)
    try:
        reading = await run_in_threadpool(read, examinations.spec(benchmark, wanted))
        if reading.problems:
            raise Invalid(await refusals.problems(caller, objects, settings, reading))
        body = fingerprint(request, wanted.model_dump(mode="json"))
        answer = await admission.create(caller, objects, settings, reading.spec, key, body)
    except Invalid as error:
        raise examinations.refused(error) from error
    return answer.response()


@router.get("/{name}/leaderboard", openapi_extra=needs("read", "benchmarks"))
async def leaderboard(
    name: Id, caller: Caller, series: Series = "sampled",
    evaluations: Annotated[Literal["newest", "all"], Query(
        description="newest: of each run the last evaluation by the benchmark; all: every evaluation.")] = "newest",
) -> Leaderboard:
    """Compare your checkpoints that were evaluated on a benchmark, by examinations or while they trained.

    Intervals are of 95 %: of scores by a bootstrap over tasks, of shares by Wilson's formula. Two checkpoints are
    compared task by task.
    """
    benchmark = _known(name)
    async with caller.transaction() as transaction:
        runs = await transaction.all("benchmarks.runs", run_id=None, environment=benchmark.environment,
                                     limit=MOST_RUNS + 1)
        answers = await transaction.all(
            "benchmarks.answers", run_ids=[row["id"] for row in runs[:MOST_RUNS]], series=series,
            tasks=list(benchmark.by_hash), every=evaluations == "all", step=None, limit=MOST_ANSWERS + 1)
        parts, prices = await _parts(transaction, answers), await _prices(transaction)
    return await run_in_threadpool(leaderboards.make, benchmark, series, runs, answers, parts, prices)


@router.get("/{name}/examinations/{run_id}", openapi_extra=needs("read", "benchmarks"))
async def examined(
    name: Id, run_id: Id, caller: Caller, series: Series = "sampled",
    step: Annotated[int | None, Query(ge=0, le=MOST, description="The weights after this step; when absent, the "
                                      "newest evaluated weights.")] = None,
) -> Examination:
    """Return one evaluation of a benchmark, answer by answer, with the places of the samples."""
    benchmark = _known(name)
    async with caller.transaction() as transaction:
        runs = await transaction.all("benchmarks.runs", run_id=run_id, environment=benchmark.environment, limit=1)
        if not runs:
            await admission.row_of(transaction, run_id)
        answers = await transaction.all(
            "benchmarks.answers", run_ids=[run_id], series=series, tasks=list(benchmark.by_hash), every=False,
            step=step, limit=MOST_ANSWERS)
        parts, prices = await _parts(transaction, answers), await _prices(transaction)
    found = await run_in_threadpool(leaderboards.examination, benchmark, runs, answers, parts, prices)
    if found is None:
        raise NotFound(f"Run {run_id} has no graded answers to the benchmark {name}"
                       f"{'' if step is None else f' after step {step}'}.")
    return found


def _known(name: str) -> benchmarks.Benchmark:
    if name not in benchmarks.BENCHMARKS:
        raise NotFound(f"There is no benchmark {name!r}; there are {', '.join(benchmarks.BENCHMARKS)}.")
    return benchmarks.BENCHMARKS[name]


async def _parts(transaction: AsyncTransaction, answers: list[Row]) -> list[Row]:
    groups = sorted({row["group_id"] for row in answers})
    return await transaction.all("grades.components", group_ids=groups) if groups else []


async def _prices(transaction: AsyncTransaction) -> Prices:
    row = await transaction.one("prices.newest")
    assert row is not None, "the schema has a first list"
    return Prices(row["prompt_tokens"], row["completion_tokens"], row["currency"])
