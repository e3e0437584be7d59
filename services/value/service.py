"""The Value service: rollout budgets, and baselines from the outcomes of earlier steps."""

import math
from typing import Any

from pydantic import ValidationError

from hone.algorithms.allocation import ALLOCATIONS, AllocationInputs, GroupOutcomes
from hone.algorithms.method import Method, Params
from hone.api import value_pb2, value_pb2_grpc
from hone.crashpoints import reach
from hone.rpc import outage
from hone.rpc.errors import InvalidField, NotFound
from hone.spec import strict_json
from hone.store.database import AsyncDatabase


class Value(value_pb2_grpc.ValueServiceServicer):
    """Reads outcomes and steps. It writes nothing."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def AllocateRollouts(
            self, request: value_pb2.AllocateRolloutsRequest, context: Any) -> value_pb2.AllocateRolloutsResponse:
        """Return how many rollouts each prompt gets."""
        method, params = _allocation(request)
        outcomes = await self._outcomes(request) if "outcomes" in params.needs() else {}
        inputs = AllocationInputs(list(request.task_hashes), request.budget, outcomes, _bounds(request))
        rollouts, _, _ = method(inputs, params.model_dump(), {})
        reach("allocate.mid")
        return value_pb2.AllocateRolloutsResponse(rollouts=rollouts)

    async def Baseline(self, request: value_pb2.BaselineRequest, context: Any) -> value_pb2.BaselineResponse:
        """Return the mean outcome of each task over the steps before one."""
        known = await self._baselines(request)
        return value_pb2.BaselineResponse(baselines=[
            value_pb2.TaskBaseline(task_hash=task_hash, **_fields(known.get(task_hash)))
            for task_hash in request.task_hashes])

    async def _outcomes(self, request: value_pb2.AllocateRolloutsRequest) -> dict[str, list[GroupOutcomes]]:
        """Return the outcomes so far of each task, group by group."""
        found: dict[str, list[GroupOutcomes]] = {}
        for row in await self._earlier("trajectories.outcomes", request):
            found.setdefault(row["task_hash"], []).append(
                GroupOutcomes(row["samples"], row["mean"], row["variance"], row["above"]))
        return found

    async def _baselines(self, request: value_pb2.BaselineRequest) -> dict[str, dict[str, Any]]:
        return {row["task_hash"]: row for row in await self._earlier("trajectories.baselines", request)}

    async def _earlier(
        self, query: str, request: value_pb2.AllocateRolloutsRequest | value_pb2.BaselineRequest,
    ) -> list[dict[str, Any]]:
        """Return a query's rows about the tasks in the steps that a request names. Raises NotFound."""
        with outage.reported():
            if await self._database.one("runs.exists", run_id=request.run_id) is None:
                raise NotFound(f"run {request.run_id!r}: there is no such run")
            return await self._database.all(
                query, run_id=request.run_id, since_step=request.since_step, before_step=request.before_step,
                task_hashes=list(request.task_hashes))


def _bounds(request: value_pb2.AllocateRolloutsRequest) -> tuple[float, float]:
    """Return the smallest and the largest score. Raises InvalidField."""
    low = request.lowest if request.HasField("lowest") else 0.0
    high = request.highest if request.HasField("highest") else 1.0
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidField("highest", high, f"a finite number above the lowest score, {low:g}")
    return low, high


def _fields(row: dict[str, Any] | None) -> dict[str, Any]:
    return {"count": 0} if row is None else {"mean": row["mean"], "count": row["count"]}


def _allocation(request: value_pb2.AllocateRolloutsRequest) -> tuple[Method[AllocationInputs, list[int]], Params]:
    """Return the requested method and its parameters. Raises InvalidField."""
    if request.method not in ALLOCATIONS:
        raise InvalidField("method", request.method, f"one of {', '.join(ALLOCATIONS)}")
    if not request.task_hashes:
        raise InvalidField("task_hashes", [], "at least one task")
    if request.budget < 0:
        raise InvalidField("budget", request.budget, "at least 0")
    method = ALLOCATIONS[request.method]
    try:
        return method, method.params.model_validate(_params(request.params_json))
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidField(".".join(["params", *map(str, first["loc"])]), first["input"], first["msg"]) from error


def _params(text: str) -> dict[str, Any]:
    try:
        params = strict_json.read(text or "{}")
    except ValueError as error:
        raise InvalidField("params_json", text[:200], f"a JSON object ({error})") from error
    if not isinstance(params, dict):
        raise InvalidField("params_json", text[:200], "a JSON object")
    return params
