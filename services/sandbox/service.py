"""The Sandbox service: it runs programs behind walls, and says which walls."""

from typing import Any

from hone.api import sandbox_pb2, sandbox_pb2_grpc
from hone.process.line import WAIT_S, StillWaiting, Turn
from hone.rpc.errors import OverBudget
from hone.telemetry import metrics
from services.sandbox import requests
from services.sandbox.levels import FORBIDDEN
from services.sandbox.pool import Pool

_ANSWER_S = 1.0
"""Seconds before the end of a call in which it is answered."""


class Sandbox(sandbox_pb2_grpc.SandboxServiceServicer):
    """Runs programs in the cells of its pool."""

    def __init__(self, pool: Pool, memory_bytes: int, unavailable: list[str]) -> None:
        """`memory_bytes`: the most that a program may ask for. `unavailable`: why stronger levels are not in force."""
        self._pool, self._memory_bytes, self._unavailable = pool, memory_bytes, unavailable

    async def Run(self, request: sandbox_pb2.RunRequest, context: Any) -> sandbox_pb2.RunResponse:
        """Run a program once. It is ended if the caller leaves."""
        asked = requests.read(request, self._memory_bytes)
        turn = Turn(request.run_id, _wait_s(request.wait_s or WAIT_S, context.time_remaining()), request.tenant_id)
        try:
            done = await self._pool.run(asked, turn)
        except StillWaiting as error:
            raise OverBudget(str(error)) from error
        metrics.PROGRAMS.labels(done.status).inc()
        metrics.PROGRAM_SECONDS.inc(done.header.get("wall_ms", 0.0) / 1000)
        return requests.answer(done)

    async def Describe(self, request: sandbox_pb2.DescribeRequest, context: Any) -> sandbox_pb2.DescribeResponse:
        """Say how programs are isolated, and how many run."""
        return sandbox_pb2.DescribeResponse(
            isolation=self._pool.level, forbidden=FORBIDDEN[self._pool.level], places=self._pool.size,
            running=self._pool.running, waiting=self._pool.waiting, preloaded=self._pool.preload,
            unavailable=self._unavailable)


def _wait_s(chosen_s: float, left_s: float | None) -> float:
    """Return how long a program may wait: as chosen, and so that the caller hears why it was in vain."""
    return chosen_s if left_s is None else min(chosen_s, max(left_s - _ANSWER_S, 0.0))
