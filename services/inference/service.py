"""The gRPC service: requests in, completions and scores out.

The way of a request to `Generate`, `GenerateStream` or `GenerateBatch`:

    PendingRequest.read          the message is checked and becomes a `Request`
    LoadedModels.at              wait until the model is served at the version that the request insists on
    EngineThread.submit          give the request to that model's engine
    Engine.step                  make one token for each running sequence, step after step, on the engines' thread
    _answered                    collect the engine's answers, which become messages
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

import grpc

from hone.api import inference_pb2 as pb
from hone.api import inference_pb2_grpc
from hone.models.architecture import Architecture
from hone.rpc import outage
from hone.rpc.client import TIMEOUT_S
from hone.rpc.errors import Refused
from hone.rpc.tenancy import Caller, calling
from hone.store.ownership import OwnedRows
from services.inference import rating, requests, scoring
from services.inference.engines import Engine
from services.inference.grammars import Grammars
from services.inference.loaded_models import LoadedModels
from services.inference.requests import Answer, Limits, Request
from services.inference.scoring import Scored, ScoreItem

_ENCODING_S = 0.05
"""Part of a call's deadline that is reserved for the error message after it was missed."""
_TOGETHER_S = (0.05, 0.2)
"""Shortest and longest time that an answer of a batch waits for others; between them, a fifth of the time it took.

They are sent in one message because the caller has a cost for each message.
"""


@dataclass(frozen=True)
class PendingRequest:
    """One request of a call."""

    path: str  # where its message is in the call's message, for the names of wrong fields
    model_id: str
    min_version: int
    request: Request

    @property
    def wanted(self) -> tuple[str, str, int]:
        """The model, the version that the request insists on (or ""), and the lowest number of another one."""
        return self.model_id, self.request.version_id, self.min_version

    @classmethod
    def read(
        cls, message: pb.GenerateRequest, limits: Limits, who: Caller | None, path: str = "", streamed: bool = False
    ) -> "PendingRequest":
        """Read a message of a call that `who` made. Raises InvalidField."""
        read = requests.read_request(message, limits, path, streamed)
        return cls(path, message.model_id, message.min_version, replace(read, tenant_id=who.tenant_id) if who else read)


class Inference(inference_pb2_grpc.InferenceServiceServicer):
    """Serves hone.v1.InferenceService with the models that are loaded."""

    def __init__(self, limits: Limits, models: LoadedModels, engine_id: str, rows: OwnedRows) -> None:
        self._limits, self._models, self._engine_id, self._rows = limits, models, engine_id, rows
        self._thread, self._grammars = models.thread, Grammars()

    async def Generate(self, request: pb.GenerateRequest, context: Any) -> pb.GenerateResponse:
        """Answer one request when its last sample ends."""
        pending = PendingRequest.read(request, self._limits, calling(context))
        async with self._answers([pending], context) as answers:
            (answer,) = await anext(answers)
            return _response(answer)

    async def GenerateStream(
        self, request: pb.GenerateStreamRequest, context: Any
    ) -> AsyncIterator[pb.GenerateStreamResponse]:
        """Answer one request token by token."""
        pending = PendingRequest.read(request.request, self._limits, calling(context), "request.", streamed=True)
        async with self._answers([pending], context) as answers:
            async for together in answers:
                for made in (made for answer in together for made in answer.completions):
                    yield pb.GenerateStreamResponse(delta=requests.completion_message(made))

    async def GenerateBatch(
        self, request: pb.GenerateBatchRequest, context: Any
    ) -> AsyncIterator[pb.GenerateBatchResponse]:
        """Answer many requests, each when its last sample ends. Answers of about the same time share a message."""
        who = calling(context)
        pending = [PendingRequest.read(message, self._limits, who, f"requests[{number}].")
                   for number, message in enumerate(request.requests)]
        async with self._answers(pending, context, _together_s) as answers:
            async for together in answers:
                yield pb.GenerateBatchResponse(responses=map(_response, together))

    async def Score(self, request: pb.ScoreRequest, context: Any) -> pb.ScoreResponse:
        """Score all items under one version."""
        items = scoring.read_items(request, self._limits.positions)
        async with self._models.at(request.model_id, request.version_id, self._time_left(context)) as engine:
            rating.expect_writer(engine.architecture)
            scoring.check_top_k(request.top_k, engine.architecture.vocab_size)
            scoring.check_room(items, engine.architecture.max_positions, requests.MODEL)
            for number, item in enumerate(items):
                requests.check_ids(f"items[{number}]", item.context_ids + item.ids, engine.architecture.vocab_size)
            version_id, scored = await self._score(engine, items, request)
        for one in scored:
            _check_finite(one.logp, version_id)
        return pb.ScoreResponse(version_id=version_id, items=map(scoring.item_message, scored))

    async def Rate(self, request: pb.RateRequest, context: Any) -> pb.RateResponse:
        """Rate all texts under one version of a reward model."""
        texts = rating.read_items(request, self._limits.positions)
        async with self._models.at(request.model_id, request.version_id, self._time_left(context)) as engine:
            rating.check_fit(texts, engine.architecture)
            async with self._held(engine, request.version_id) as version_id:
                ratings = await self._rated(engine, texts)
        if not all(map(math.isfinite, ratings)):
            raise Refused(f"version {version_id} gives ratings that are not finite")
        return pb.RateResponse(version_id=version_id, ratings=ratings)

    async def ListVersions(self, request: pb.ListVersionsRequest, context: Any) -> pb.ListVersionsResponse:
        """List the models that are served, with their versions and counts; a tenant sees its own."""
        strange = await self._strange(calling(context))
        models = [
            pb.LoadedModel(
                model_id=held.model_id, version_id=engine.version_id, refused_reason=held.refused_reason,
                running_sequences=engine.running, waiting_sequences=engine.waiting,
                generated_tokens=engine.generated_tokens, generated_samples=engine.generated_samples,
                computed_s=engine.computed_s,
            ) for held in self._models.all() if (engine := held.engine) is not None and held.model_id not in strange
        ]
        return pb.ListVersionsResponse(engine_id=self._engine_id, models=models)

    async def LoadVersion(self, request: pb.LoadVersionRequest, context: Any) -> pb.LoadVersionResponse:
        """Load a version (empty: the newest), and answer when it is served."""
        async with self._models.at(request.model_id, request.version_id, self._time_left(context)) as engine:
            return pb.LoadVersionResponse(version_id=engine.version_id)

    async def Pause(self, request: pb.PauseRequest, context: Any) -> pb.PauseResponse:
        """Make no more tokens for a model's sequences, from the next step on."""
        await self._set_paused(request.model_id, True)
        return pb.PauseResponse()

    async def Resume(self, request: pb.ResumeRequest, context: Any) -> pb.ResumeResponse:
        """Make tokens for a model's sequences again."""
        await self._set_paused(request.model_id, False)
        return pb.ResumeResponse()

    async def Abort(self, request: pb.AbortRequest, context: Any) -> pb.AbortResponse:
        """End every running request with this id; a tenant ends its own."""
        who = calling(context)
        named = [one for one in self._thread.requests() if one.request_id == request.request_id
                 and (who is None or one.tenant_id == who.tenant_id)]
        return pb.AbortResponse(aborted=await self._thread.abort(named))

    async def _strange(self, who: Caller | None) -> set[str]:
        """Return the served models that the caller may not see."""
        if who is None:
            return set()
        with outage.reported():
            return await self._rows.strange(who.tenant_id, "model", [held.model_id for held in self._models.all()])

    async def _set_paused(self, model_id: str, paused: bool) -> None:
        engine = self._models.engine(model_id)
        await self._thread.call(lambda: setattr(engine, "paused", paused))

    async def _score(
        self, engine: Engine, items: list[ScoreItem], request: pb.ScoreRequest
    ) -> tuple[str, list[Scored]]:
        async with self._held(engine, request.version_id) as version_id:
            scored: list[Scored] = []
            for batch in scoring.batches(items):
                scored += await self._thread.call(lambda batch=batch: engine.score(  # type: ignore[misc]
                    batch, request.temperature or 1.0, request.top_k))
            return version_id, scored

    async def _rated(self, engine: Engine, texts: list[list[int]]) -> list[float]:
        """Return the rating of each text. Those of about the same length are computed together."""
        ratings = dict[int, float]()
        for batch in rating.batches(texts):
            found = await self._thread.call(
                lambda batch=batch: engine.rate([texts[place] for place in batch]))  # type: ignore[misc]
            ratings.update(zip(batch, found, strict=True))
        return [ratings[place] for place in range(len(texts))]

    @asynccontextmanager
    async def _held(self, engine: Engine, version_id: str) -> AsyncIterator[str]:
        """Keep the engine's version from being replaced, and give its id. Raises Refused if it is another one.

        A caller that goes away before the engine's thread has taken the hold leaves none behind: with it, the engine
        would never take over another version.
        """
        taken = asyncio.ensure_future(self._thread.call(lambda: _hold(engine, version_id)))
        try:
            yield await asyncio.shield(taken)
        finally:
            taken.add_done_callback(partial(self._let_go, engine))

    def _let_go(self, engine: Engine, taken: asyncio.Future[str]) -> None:
        if not taken.cancelled() and taken.exception() is None:
            self._thread.post(lambda: setattr(engine, "holds", engine.holds - 1))

    @asynccontextmanager
    async def _answers(
        self, pending: list[PendingRequest], context: grpc.aio.ServicerContext[Any, Any],
        together_s: Callable[[float], float] = lambda _: 0.0,
    ) -> AsyncIterator[AsyncIterator[list[Answer]]]:
        """Submit requests and give their answers, in lists as `_answered` gives them.

        Requests that are unfinished at the end of the context are aborted, also when it ends by an error.
        """
        queue: asyncio.Queue[Answer | Exception] = asyncio.Queue()
        timeout_s = self._time_left(context)
        tasks = [asyncio.create_task(self._submit(list(members), timeout_s, queue))
                 for _, members in groupby(pending, key=attrgetter("wanted"))]
        try:
            yield _answered(queue, len(pending), together_s)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._thread.abort(one.request for one in pending)

    async def _submit(
        self, pending: list[PendingRequest], timeout_s: float, queue: asyncio.Queue[Answer | Exception]
    ) -> None:
        """Give requests that want the same version to the engine that serves it."""
        model_id, version_id, min_version = pending[0].wanted
        try:
            async with self._models.at(model_id, version_id, timeout_s, min_version) as engine:
                for one in pending:
                    _check_fit(one, engine.architecture)
                    await self._compile(one, engine)
                for one in pending:
                    self._thread.submit(engine, one.request, queue.put_nowait)
        except Exception as error:  # raised again where the answers are awaited
            queue.put_nowait(error)

    async def _compile(self, pending: PendingRequest, engine: Engine) -> None:
        """Compile the grammar of a request for the engine's tokens. Raises InvalidField."""
        guide = pending.request.guide
        if guide is not None:
            guide.grammar = await self._grammars.of(
                f"{pending.path}grammar", guide.text, engine.tokenizer, engine.architecture.vocab_size)

    def _time_left(self, context: grpc.aio.ServicerContext[Any, Any]) -> float:
        remaining = context.time_remaining()
        return (TIMEOUT_S if remaining is None else remaining) - _ENCODING_S


async def _answered(
    queue: asyncio.Queue[Answer | Exception], unfinished: int, together_s: Callable[[float], float]
) -> AsyncIterator[list[Answer]]:
    """Yield answers until `unfinished` requests are done, each list as soon as it is complete.

    A list begins with one answer, which took t seconds. It also has the answers of the following `together_s(t)`
    seconds, but nothing is waited for when all requests are done.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    while unfinished:
        together: list[Answer] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as waiting:
                while unfinished:
                    together.append(_usable(await queue.get()))
                    unfinished -= together[-1].done
                    if waiting.when() is None:
                        waiting.reschedule(clock() + together_s(clock() - began))
        yield together


def _together_s(taken_s: float) -> float:
    """Return the seconds for which an answer that took `taken_s` waits for others."""
    least, most = _TOGETHER_S
    return min(max(taken_s / 5, least), most)


def _usable(answer: Answer | Exception) -> Answer:
    """Raise the error of a request that has no answer, and Refused for one without completions or finite log-probs."""
    if isinstance(answer, Exception):
        raise answer
    if answer.refused:
        raise Refused(answer.refused)
    if not answer.completions:
        raise Refused(f"version {answer.request.version_id} was replaced by a newer one as the request came")
    for made in answer.completions:
        _check_finite(made.logp, made.versions[-1][0] if made.versions else "")
    return answer


def _check_finite(logp: list[float], version_id: str) -> None:
    """Raise Refused unless all log-probs are finite numbers."""
    if not math.isfinite(sum(logp)):
        raise Refused(f"version {version_id} gives log-probabilities that are not finite: the model has diverged")


def _check_fit(pending: PendingRequest, model: Architecture) -> None:
    """Refuse a request that the model cannot read. Raises InvalidField."""
    request, path, vocabulary = pending.request, pending.path, model.vocab_size
    rating.expect_writer(model, path)
    requests.check_ids(f"{path}prompt_ids", request.prompt_ids, vocabulary)
    requests.check_ids(f"{path}sampling.stop_ids", request.sampling.stop_ids, vocabulary)
    requests.check_ids(f"{path}sampling.logit_bias", [id for id, _ in request.sampling.logit_bias], vocabulary)
    requests.check_room(path, len(request.prompt_ids), request.sampling.max_tokens, model.max_positions, requests.MODEL)


def _response(answer: Answer) -> pb.GenerateResponse:
    completions = [requests.completion_message(made) for made in answer.completions]
    return pb.GenerateResponse(request_id=answer.request.request_id, completions=completions)


def _hold(engine: Engine, version_id: str) -> str:
    """Keep the engine's version from being replaced, and return its id. Raises Refused if it is another one."""
    if version_id not in ("", engine.version_id):
        raise Refused(f"version {version_id} was replaced by {engine.version_id} as the request came")
    engine.holds += 1
    return engine.version_id

