"""Rollout budgets: an allocation with all that it reads, from committed steps and the predictions of a request."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hone.algorithms.allocation.inputs import AllocationInputs, AllocationParams, GroupOutcomes
from hone.algorithms.allocation.v0_5 import ACCEPTED_LEAST, ACCEPTED_OF, accepted
from hone.algorithms.catalogue import ALLOCATIONS
from hone.algorithms.method import Method
from hone.api import value_pb2
from hone.rpc import outage
from hone.rpc.errors import InvalidField, NotFound
from hone.spec import strict_json
from hone.spec.findings import first
from hone.store.database import AsyncDatabase, Row
from services.value.prediction import bounds


class Allocator:
    """Shares out the rollouts of a coming step. It writes nothing."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def allocate(self, request: value_pb2.AllocateRolloutsRequest) -> value_pb2.AllocateRolloutsResponse:
        """Return how many rollouts each prompt gets. Raises InvalidField and NotFound."""
        method, params = _allocation(request)
        low, high = bounds(request)
        doubt = await self._doubt(request, low, high) if request.predictions else ""
        inputs = AllocationInputs(
            request.task_hashes, request.budget, await self._outcomes(request, params, low, high), (low, high),
            () if doubt else [None if math.isnan(chance) else chance for chance in request.predictions],
            await self._success_rates(request, params, low, high), request.before_step)
        rollouts, _, metrics = method(inputs, params.model_dump(), {})
        chances = [math.nan if chance is None else chance for chance in params.expected(inputs)]
        return value_pb2.AllocateRolloutsResponse(
            rollouts=rollouts, chances=chances, metrics=metrics, unreliable=doubt)

    async def _outcomes(
        self, request: value_pb2.AllocateRolloutsRequest, params: AllocationParams, low: float, high: float
    ) -> Mapping[str, list[GroupOutcomes]]:
        """Return the outcomes so far of each task, group by group, if the allocation reads them."""
        if "outcomes" not in params.needs():
            return {}
        found: dict[str, list[GroupOutcomes]] = {}
        for row in await self._rows("trajectories.outcomes", request, task_hashes=list(request.task_hashes),
                                    success=low + (high - low) * params.success_at()):
            found.setdefault(row["task_hash"], []).append(GroupOutcomes(
                row["samples"], row["mean"], row["variance"], row["above"], row["successes"], row["step"]))
        return found

    async def _success_rates(
        self, request: value_pb2.AllocateRolloutsRequest, params: AllocationParams, low: float, high: float
    ) -> list[float]:
        if "success_rates" not in params.needs():
            return []
        rows = await self._rows("trajectories.success_rates", request, params.recent_steps(),
                                success=low + (high - low) * params.success_at())
        return [row["rate"] for row in rows]

    async def _doubt(self, request: value_pb2.AllocateRolloutsRequest, low: float, high: float) -> str:
        """Return why predictions are unreliable: too few of the last groups accepted theirs; "" while they do."""
        rows = await self._rows("trajectories.predicted_groups", request, ACCEPTED_OF, most=ACCEPTED_OF)
        if len(rows) < ACCEPTED_OF:
            return ""
        share = sum(accepted(row["samples"], 2 * (row["mean"] - low) / (high - low) - 1, 2 * row["predicted"] - 1)
                    for row in rows) / len(rows)
        return "" if share >= ACCEPTED_LEAST else (
            f"of the last {len(rows)} prompts {share:.0%} accepted what was predicted for them, expected at least "
            f"{ACCEPTED_LEAST:.0%}")

    async def _rows(
        self, query: str, request: value_pb2.AllocateRolloutsRequest, steps: int | None = None, **named: Any
    ) -> list[Row]:
        """Return a query's rows over the steps that a request names, or the last of them. Raises NotFound."""
        first = request.since_step if steps is None else max(request.since_step, request.before_step - steps)
        with outage.reported():
            if await self._database.one("runs.exists", run_id=request.run_id) is None:
                raise NotFound(f"run {request.run_id!r}: there is no such run")
            return await self._database.all(
                query, run_id=request.run_id, since_step=first, before_step=request.before_step, **named)


def _allocation(
    request: value_pb2.AllocateRolloutsRequest
) -> tuple[Method[AllocationInputs, list[int]], AllocationParams]:
    """Return the requested method and its parameters. Raises InvalidField."""
    if request.method not in ALLOCATIONS:
        raise InvalidField("method", request.method, f"one of {', '.join(ALLOCATIONS)}")
    if not request.task_hashes:
        raise InvalidField("task_hashes", [], "at least one task")
    if request.budget < 0:
        raise InvalidField("budget", request.budget, "at least 0")
    _check_predictions(request)
    method = ALLOCATIONS[request.method]
    try:
        params = method.params.model_validate(_params(request.params_json))
    except ValidationError as error:
        raise InvalidField(*first(error, "params", model=method.params)) from error
    assert isinstance(params, AllocationParams)
    return method, params


def _check_predictions(request: value_pb2.AllocateRolloutsRequest) -> None:
    """Raise InvalidField for predictions that are no chances, or not as many as the tasks."""
    if len(request.predictions) not in (0, len(request.task_hashes)):
        raise InvalidField("predictions", f"{len(request.predictions)} of them",
                           f"none, or one for each of the {len(request.task_hashes)} tasks")
    for place, chance in enumerate(request.predictions):
        if not (math.isnan(chance) or 0 <= chance <= 1):
            raise InvalidField(f"predictions[{place}]", chance, "a chance from 0 to 1, or NaN")


def _params(text: str) -> dict[str, Any]:
    try:
        params = strict_json.read(text or "{}")
    except ValueError as error:
        raise InvalidField("params_json", text[:200], f"a JSON object ({error})") from error
    if not isinstance(params, dict):
        raise InvalidField("params_json", text[:200], "a JSON object")
    return params
