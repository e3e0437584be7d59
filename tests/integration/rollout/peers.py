"""Stand-ins for the services that a rollout worker calls: real gRPC servers with computed answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc

from hone.api import (
    inference_pb2,
    inference_pb2_grpc,
    reward_pb2,
    reward_pb2_grpc,
    simulation_pb2,
    simulation_pb2_grpc,
    trajectory_pb2,
)
from hone.process.memory import MemoryEnd
from hone.rpc.border import RichErrors
from hone.rpc.errors import InvalidField, MemoryOver, NotReady, RpcError
from hone.rpc.server import OPTIONS

EOS = 2
WHY = "its memory was 2100 MiB, expected at most 2048 (HONE_MEMORY_MB)"


class Inference(inference_pb2_grpc.InferenceServiceServicer):
    """Answers a prompt with its digits sorted, sample i turned round by i; `tokens` repeats them to that length.

    Scores each id by itself, -id / 8 nats, and finds the ids from 0 on likeliest.
    """

    def __init__(self, tokens: int | None) -> None:
        self._tokens = tokens
        self.requests: list[inference_pb2.GenerateRequest] = []
        self.loads: list[str] = []  # requested models
        self.batches = 0
        self.error: RpcError | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.started = asyncio.Event()
        self.version_id = "newest"  # that it answers with if the request names none
        self.scored: list[inference_pb2.ScoreRequest] = []
        self.scoring_error: RpcError | None = None
        self.scoring = asyncio.Event()  # set: scoring answers
        self.scoring.set()

    async def GenerateBatch(
        self, request: inference_pb2.GenerateBatchRequest, context: Any
    ) -> AsyncIterator[inference_pb2.GenerateBatchResponse]:
        self.batches += 1
        self.requests.extend(request.requests)
        self.started.set()
        await self.open.wait()
        if self.error is not None:
            raise self.error
        if any(not one.prompt_ids for one in request.requests):
            raise InvalidField("requests.prompt_ids", [], "at least one id")
        for one in request.requests:
            wanted = one.version_id or self.version_id
            completions = [_completion(one, wanted, index, self._tokens) for index in range(one.n)]
            yield inference_pb2.GenerateBatchResponse(responses=[inference_pb2.GenerateResponse(
                request_id=one.request_id, completions=completions)])

    async def LoadVersion(
        self, request: inference_pb2.LoadVersionRequest, context: Any
    ) -> inference_pb2.LoadVersionResponse:
        self.loads.append(request.model_id)
        return inference_pb2.LoadVersionResponse(version_id=self.version_id)

    async def Score(self, request: inference_pb2.ScoreRequest, context: Any) -> inference_pb2.ScoreResponse:
        self.scored.append(request)
        await self.scoring.wait()
        if self.scoring_error is not None:
            raise self.scoring_error
        return inference_pb2.ScoreResponse(
            version_id=request.version_id, items=[_scored(item, request.top_k) for item in request.items])


class Simulation(simulation_pb2_grpc.SimulationServiceServicer):
    """Shows the task's own `prompt` and judges by its `answer`."""

    def __init__(self) -> None:
        self.resets = 0
        self.forgotten: list[str] = []
        self.error: RpcError | None = None
        self.over = "no prompt"  # requests with this text end the process by its memory

    async def Reset(self, request: simulation_pb2.ResetRequest, context: Any) -> simulation_pb2.ResetResponse:
        if self.error is not None:
            raise self.error
        if any(self.over in task.params_json for task in request.tasks):
            raise MemoryOver(MemoryEnd("simulation", WHY))
        self.resets += 1
        return simulation_pb2.ResetResponse(sessions=[_session(task) for task in request.tasks])

    async def Close(self, request: simulation_pb2.CloseRequest, context: Any) -> simulation_pb2.CloseResponse:
        self.forgotten.extend(request.session_ids)
        return simulation_pb2.CloseResponse()


class Reward(reward_pb2_grpc.RewardServiceServicer):
    """1 for the item's answer, else 0; `status` replaces ok."""

    def __init__(self) -> None:
        self.requests: list[reward_pb2.GradeRequest] = []
        self.status: reward_pb2.GradeStatus = reward_pb2.GRADE_STATUS_OK
        self.over = "no answer"  # requests with this text end the process by its memory
        self.error: RpcError | None = None
        self.open = asyncio.Event()
        self.open.set()

    async def GradeStream(
        self, request: reward_pb2.GradeStreamRequest, context: Any
    ) -> AsyncIterator[reward_pb2.GradeStreamResponse]:
        self.requests.append(request.request)
        await self.open.wait()
        if self.error is not None:
            raise self.error
        if any(self.over in item.item_json for item in request.request.items):
            raise MemoryOver(MemoryEnd("reward", WHY))
        for place, item in enumerate(request.request.items):
            yield reward_pb2.GradeStreamResponse(places=[place], grades=[self._grade(item)])

    def _grade(self, item: reward_pb2.GradeItem) -> reward_pb2.Grade:
        right = json.loads(item.item_json)["answer"] == item.output_text
        score = float(right) if self.status == reward_pb2.GRADE_STATUS_OK else None
        return reward_pb2.Grade(grade_id=1000 * item.group_id + item.index, status=self.status, score=score)


class Peers:
    """All three on one port."""

    def __init__(self, tokens: int | None = None) -> None:
        self.inference = Inference(tokens)  # type: ignore[abstract]  # the calls a rollout worker makes, no others
        self.simulation = Simulation()  # type: ignore[abstract]
        self.reward = Reward()  # type: ignore[abstract]
        self.address = ""

    async def start(self, address: str = "127.0.0.1:0") -> None:
        self._server = grpc.aio.server(interceptors=[RichErrors()], options=OPTIONS)
        inference_pb2_grpc.add_InferenceServiceServicer_to_server(self.inference, self._server)
        simulation_pb2_grpc.add_SimulationServiceServicer_to_server(self.simulation, self._server)
        reward_pb2_grpc.add_RewardServiceServicer_to_server(self.reward, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port(address)}"
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(0)


AWAY = NotReady("not here yet")


def _completion(
    request: inference_pb2.GenerateRequest, version_id: str, index: int, tokens: int | None
) -> trajectory_pb2.Completion:
    digits = sorted(request.prompt_ids[1:-1])
    turned = [*digits[index % len(digits):], *digits[:index % len(digits)]]
    ids = [*(turned * (tokens or 1))[:tokens or len(turned)], EOS]
    logp = [-0.125 * (1 + place + request.noise.seed) for place in range(len(ids))]
    span = trajectory_pb2.VersionSpan(version_id=version_id, tokens=len(ids))
    return trajectory_pb2.Completion(index=index, ids=ids, logp_sample=logp, versions=[span],
                                     finish_reason=trajectory_pb2.FINISH_REASON_STOP)


def _scored(item: inference_pb2.ScoreItem, top_k: int) -> inference_pb2.ScoredItem:
    return inference_pb2.ScoredItem(
        logp=[-id / 8 for id in item.ids], entropy=[0.5] * len(item.ids), top_ids=[*range(top_k)] * len(item.ids),
        top_logp=[-1.0] * top_k * len(item.ids))


def _session(task: trajectory_pb2.Task) -> simulation_pb2.Session:
    params = json.loads(task.params_json)
    seen = simulation_pb2.Observation(
        messages=[simulation_pb2.Message(role="user", content=params["prompt"])], turns_left=1,
        item_json=json.dumps({"answer": params["answer"]}), grader_json='{"type":"exact"}')
    return simulation_pb2.Session(session_id=f"ses_{task.content_hash}", ttl_s=60, observation=seen)
