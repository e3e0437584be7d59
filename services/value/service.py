"""The Value service: rollout budgets, baselines, predicted success and routes, from outcomes."""

import asyncio
from typing import Any

from hone.algorithms.value.heads import missing
from hone.api import value_pb2, value_pb2_grpc
from hone.crashpoints import reach
from hone.models import embedders
from hone.models.embedders import Embedder
from hone.rpc import outage
from hone.rpc.errors import InvalidField, NotFound
from hone.spec.problems import Invalid, Problem
from hone.spec.value_settings import ValueSettings
from hone.store.database import AsyncDatabase
from hone.text.conversation import clipped_prompt
from services.value import models
from services.value.allocation import Allocator
from services.value.features import Features
from services.value.nearest import Nearest
from services.value.prediction import MOST_PROMPTS, Predictor
from services.value.profiles import Profiles
from services.value.routing import Router


class Value(value_pb2_grpc.ValueServiceServicer):
    """Reads outcomes and steps. It writes nothing but the features of prompts, which it keeps."""

    def __init__(self, database: AsyncDatabase, settings: ValueSettings) -> None:
        """Raises Invalid for an embedder, model or head that cannot be had."""
        if lacking := missing(settings.head):
            raise Invalid([Problem("HONE_VALUE_HEAD", settings.head, lacking)])
        self._database, self._allocator, own = database, Allocator(database), embedders.chosen(settings)
        self._embedders: dict[str, Embedder] = {one.name: one for one in (embedders.Hashed(), own)}
        self._own, model = own.name, models.chosen(settings, own.name)
        features = Features(database, own, model)
        self._predictor = Predictor(database, features, settings.head, model.ridge, settings.clusters)
        self._nearest = Nearest(database, features)
        self._router = Router(Profiles(database, features), features, settings.head, model.ridge)

    async def AllocateRollouts(
            self, request: value_pb2.AllocateRolloutsRequest, context: Any) -> value_pb2.AllocateRolloutsResponse:
        """Return how many rollouts each prompt gets."""
        response = await self._allocator.allocate(request)
        reach("allocate.mid")
        return response

    async def Baseline(self, request: value_pb2.BaselineRequest, context: Any) -> value_pb2.BaselineResponse:
        """Return the mean outcome of each task over the steps before one."""
        known = await self._baselines(request)
        return value_pb2.BaselineResponse(baselines=[
            value_pb2.TaskBaseline(task_hash=task_hash, **_fields(known.get(task_hash)))
            for task_hash in request.task_hashes])

    async def Predict(self, request: value_pb2.PredictRequest, context: Any) -> value_pb2.PredictResponse:
        """Return the success of a policy on prompts, before it samples any."""
        return await self._predictor.predict(request)

    async def Route(self, request: value_pb2.RouteRequest, context: Any) -> value_pb2.RouteResponse:
        """Return which of several models answers a prompt."""
        return await self._router.route(request)

    async def RouteOutcomes(
            self, request: value_pb2.RouteOutcomesRequest, context: Any) -> value_pb2.RouteOutcomesResponse:
        """Return outcomes of all candidates on the same prompts, with what would have been predicted."""
        return await self._router.outcomes(request)

    async def Nearest(self, request: value_pb2.NearestRequest, context: Any) -> value_pb2.NearestResponse:
        """Return the prompts of a run that are nearest to a text."""
        return await self._nearest.find(request)

    async def Embed(self, request: value_pb2.EmbedRequest, context: Any) -> value_pb2.EmbedResponse:
        """Return the vectors of texts."""
        embedder = self._embedders.get(request.model or self._own)
        if embedder is None:
            raise InvalidField("model", request.model, f"one of {', '.join(self._embedders)}")
        if not 0 < len(request.texts) <= MOST_PROMPTS:
            raise InvalidField("texts", f"{len(request.texts)} texts", f"1 to {MOST_PROMPTS}")
        texts = [clipped_prompt(text) for text in request.texts]
        found = await asyncio.to_thread(embedder.encode, texts)
        tokens = [len(text.split()) for text in texts] if found.tokens is None else found.tokens
        used = int(sum(tokens)) if found.used is None else found.used
        return value_pb2.EmbedResponse(model=embedder.name, tokens=used, embeddings=[
            value_pb2.Embedding(values=vector, tokens=count)
            for vector, count in zip(found.vectors, tokens, strict=True)])

    async def _baselines(self, request: value_pb2.BaselineRequest) -> dict[str, dict[str, Any]]:
        with outage.reported():
            if await self._database.one("runs.exists", run_id=request.run_id) is None:
                raise NotFound(f"run {request.run_id!r}: there is no such run")
            rows = await self._database.all(
                "trajectories.baselines", run_id=request.run_id, since_step=request.since_step,
                before_step=request.before_step, task_hashes=list(request.task_hashes))
        return {row["task_hash"]: row for row in rows}


def _fields(row: dict[str, Any] | None) -> dict[str, Any]:
    return {"count": 0} if row is None else {"mean": row["mean"], "count": row["count"]}
