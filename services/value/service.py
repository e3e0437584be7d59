"""The Value service: rollout budgets, baselines and predicted success, from the outcomes of earlier steps."""

import asyncio
from typing import Any

from pydantic import ValidationError

from hone.algorithms.allocation import ALLOCATIONS, AllocationInputs, GroupOutcomes
from hone.algorithms.method import Method, Params
from hone.algorithms.value import hashed
from hone.api import value_pb2, value_pb2_grpc
from hone.crashpoints import reach
from hone.rpc import outage
from hone.rpc.errors import InvalidField, NotFound
from hone.spec import strict_json
from hone.store.database import AsyncDatabase
from hone.text.conversation import clipped_prompt
from services.value.features import Features
from services.value.prediction import MOST_PROMPTS, Predictor, bounds


class Value(value_pb2_grpc.ValueServiceServicer):
    """Reads outcomes and steps. It writes nothing but the features of prompts, which it keeps."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._predictor = Predictor(database, Features(database))

    async def AllocateRollouts(
            self, request: value_pb2.AllocateRolloutsRequest, context: Any) -> value_pb2.AllocateRolloutsResponse:
        """Return how many rollouts each prompt gets."""
        method, params = _allocation(request)
        outcomes = await self._outcomes(request) if "outcomes" in params.needs() else {}
        inputs = AllocationInputs(list(request.task_hashes), request.budget, outcomes, bounds(request))
        rollouts, _, _ = method(inputs, params.model_dump(), {})
        reach("allocate.mid")
        return value_pb2.AllocateRolloutsResponse(rollouts=rollouts)

    async def Baseline(self, request: value_pb2.BaselineRequest, context: Any) -> value_pb2.BaselineResponse:
        """Return the mean outcome of each task over the steps before one."""
        known = await self._baselines(request)
        return value_pb2.BaselineResponse(baselines=[
            value_pb2.TaskBaseline(task_hash=task_hash, **_fields(known.get(task_hash)))
            for task_hash in request.task_hashes])

    async def Predict(self, request: value_pb2.PredictRequest, context: Any) -> value_pb2.PredictResponse:
        """Return the success of a policy on prompts, before it samples any."""
        return await self._predictor.predict(request)

    async def Embed(self, request: value_pb2.EmbedRequest, context: Any) -> value_pb2.EmbedResponse:
        """Return the vectors of texts."""
        if request.model not in ("", hashed.NAME):
            raise InvalidField("model", request.model, hashed.NAME)
        if not 0 < len(request.texts) <= MOST_PROMPTS:
            raise InvalidField("texts", f"{len(request.texts)} texts", f"1 to {MOST_PROMPTS}")
        texts = [clipped_prompt(text) for text in request.texts]
        vectors = await asyncio.to_thread(hashed.embed, texts)
        return value_pb2.EmbedResponse(model=hashed.NAME, embeddings=[
            value_pb2.Embedding(values=vector, tokens=hashed.tokens(text))
            for text, vector in zip(texts, vectors, strict=True)])

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
