"""Inference engines: found by their rows; each request goes to the engine that has the least work of ours."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import grpc
from psycopg import OperationalError

from hone.api import inference_pb2, inference_pb2_grpc
from hone.process.heartbeat import engine_fresh_s
from hone.rpc.client import channel
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase, Row
from hone.telemetry import tracing
from services.rollout.batcher import Batcher, Unanswered
from services.rollout.retry import Unavailable, invalid

_log = logging.getLogger(__name__)
ROOM = 4
"""An engine with so many models of running runs is not asked to load another one."""
LOAD_S = 60.0
"""Seconds that an engine may take to load a model, and the pause after a failure."""
DEADLINE_S = 3600.0
"""Longest call to an engine. A call to an engine that stops reporting ends earlier."""


class Engine:
    """One engine process. Requests that are made together share one stream; each is answered when it is done."""

    def __init__(self, row: Row, token: str) -> None:
        self.id, self.address = row["id"], row["address"]
        self.models: frozenset[str] = frozenset()
        self.refusing: frozenset[str] = frozenset()  # models whose newest version it refuses
        self.busy = 0  # how many of its models belong to running runs
        self.build = f"{row['kind']} {json.dumps(row['build'], sort_keys=True)}"
        self.sequences = 0  # of ours that run there now
        self.failures = 0  # of our calls, since the engines' rows were read
        self._invited: dict[str, asyncio.Task[None]] = {}
        self._channel = channel(self.address, token)
        self._stub = inference_pb2_grpc.InferenceServiceStub(self._channel)
        self._requests: Batcher[inference_pb2.GenerateRequest, inference_pb2.GenerateResponse] = Batcher(
            self._stream, split=invalid)
        self._scores: set[Batcher[inference_pb2.ScoreRequest, inference_pb2.ScoreResponse]] = set()

    async def generate(self, request: inference_pb2.GenerateRequest) -> inference_pb2.GenerateResponse:
        """Return the samples of one request. Raises grpc.aio.AioRpcError, Unanswered when the engine goes away."""
        with self._busy(request.n), tracing.span("generate", engine=self.id, samples=request.n):
            return await self._requests.ask(request)

    async def score(self, request: inference_pb2.ScoreRequest) -> inference_pb2.ScoreResponse:
        """Return a model's log-probabilities of given ids. Raises grpc.aio.AioRpcError, Unanswered when the engine goes
        away.
        """
        with self._busy(len(request.items)), tracing.span("score", engine=self.id, texts=len(request.items)):
            alone = Batcher(self._score)  # one request fills a call
            self._scores.add(alone)
            try:
                return await alone.ask(request)
            finally:
                self._scores.discard(alone)

    @contextmanager
    def _busy(self, sequences: int) -> Iterator[None]:
        self.sequences += sequences
        try:
            yield
        except (grpc.aio.AioRpcError, Unanswered):
            self.failures += 1
            raise
        finally:
            self.sequences -= sequences

    def invite(self, model_id: str) -> None:
        """Have the engine load a model that other engines hold, if it has room; one request at a time."""
        if model_id not in self.models | self.refusing | self._invited.keys() and self.busy < ROOM:
            self._invited[model_id] = asyncio.create_task(self._load(model_id))

    async def _load(self, model_id: str) -> None:
        try:
            wanted = inference_pb2.LoadVersionRequest(model_id=model_id)
            await self._stub.LoadVersion(wanted, timeout=LOAD_S)
            self.models |= {model_id}  # until its row is read again
        except grpc.aio.AioRpcError as error:
            _log.warning("engine %s cannot load model %s: %s", self.id, model_id, error.details())
            await asyncio.sleep(LOAD_S)
        finally:
            del self._invited[model_id]

    async def close(self, reason: str) -> None:
        """End our calls to the engine with `reason`."""
        for task in self._invited.values():
            task.cancel()
        self._requests.abandon(reason)
        for alone in self._scores:
            alone.abandon(reason)
        await self._channel.close(None)

    async def _stream(
        self, requests: list[inference_pb2.GenerateRequest]
    ) -> AsyncIterator[tuple[int, inference_pb2.GenerateResponse]]:
        places = {request.request_id: place for place, request in enumerate(requests)}
        batch = inference_pb2.GenerateBatchRequest(requests=requests)
        async for answer in self._stub.GenerateBatch(batch, timeout=DEADLINE_S):
            for response in answer.responses:
                yield places[response.request_id], response

    async def _score(
        self, requests: list[inference_pb2.ScoreRequest]
    ) -> AsyncIterator[tuple[int, inference_pb2.ScoreResponse]]:
        for place, request in enumerate(requests):
            yield place, await self._stub.Score(request, timeout=DEADLINE_S)


class Engines:
    """All engines that have reported lately."""

    def __init__(self, database: AsyncDatabase, settings: Settings) -> None:
        self._database, self._sweep_s, self._token = database, settings.sweep_s, settings.stack_token
        self._fresh_s = engine_fresh_s(settings.sweep_s)
        self._known: dict[str, Engine] = {}
        self._looking: asyncio.Task[None] | None = None

    async def choose(self, model_id: str) -> Engine:
        """Return the engine with the fewest of our failures and sequences.

        An engine that holds the model goes before one that does not. An engine that refuses the model's newest version
        is the last resort. Engines without the model are asked to load it, so that an engine that starts later shares
        the work. Raises Unavailable when no engine has reported lately.
        """
        if not self._known:
            await self.look()
        if not self._known:
            raise Unavailable(f"no engine has reported in the last {self._fresh_s:g} s")
        willing = [engine for engine in self._known.values() if model_id not in engine.refusing]
        willing = willing or list(self._known.values())
        able = [engine for engine in willing if model_id in engine.models]
        for engine in willing if able else ():
            engine.invite(model_id)
        return min(able or willing, key=lambda engine: (engine.failures, engine.sequences, engine.id))

    async def look(self) -> None:
        """Read the engines' rows now. Callers that come meanwhile wait for the same read."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        await asyncio.shield(self._looking)

    async def watch_forever(self) -> None:
        """Read the engines' rows every sweep and end the calls to silent engines, until cancelled."""
        while True:
            await asyncio.sleep(self._sweep_s)
            try:
                await self.look()
            except OperationalError as error:
                _log.warning("the engines' rows cannot be read: %s", error)

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        for engine in list(self._known.values()):
            await engine.close("the rollout worker ends")

    async def _look(self) -> None:
        rows = await self._database.all("engines.fresh", fresh_s=self._fresh_s)
        listed = {row["id"]: row for row in rows}
        gone = [engine for engine in self._known.values() if _changed(engine, listed.get(engine.id))]
        for engine in gone:
            del self._known[engine.id]
        for row in rows:
            self._update(row)
        for engine in gone:
            await engine.close(f"engine {engine.id} at {engine.address} has fallen silent")

    def _update(self, row: Row) -> None:
        engine = self._known[row["id"]] = self._known.get(row["id"]) or Engine(row, self._token)
        engine.models, engine.refusing = frozenset(row["models"]), frozenset(row["refusing"])
        engine.busy, engine.failures = row["busy"], 0


def _changed(engine: Engine, row: Row | None) -> bool:
    return row is None or row["address"] != engine.address
