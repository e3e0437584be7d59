"""The client of the sandbox, for services that run programs of tenants and of models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import grpc

from hone.api import sandbox_pb2, sandbox_pb2_grpc
from hone.rpc import errors
from hone.rpc.client import channel
from hone.sandbox.program import Ended, Limits, Outcome, Program, Ran

WAIT_S = 60.0
"""Most seconds that a program waits for a place, unless its caller says otherwise."""
ANSWER_S = 5.0
"""Seconds between the end of a program and its answer, at most."""
_BUSY = (grpc.StatusCode.RESOURCE_EXHAUSTED,)
_WRONG = (grpc.StatusCode.INVALID_ARGUMENT,)


class SandboxBusy(Exception):
    """No place was free for a program in time. The same run may succeed later; the message says who has the places."""


class ProgramRefused(ValueError):
    """The request is wrong. The message names the field, what was found and what was expected."""


@dataclass(frozen=True)
class Walls:
    """How a sandbox isolates programs, and how many it runs."""

    isolation: str
    forbidden: tuple[str, ...]
    places: int
    running: int
    waiting: int


class Sandbox:
    """Runs programs in the sandbox at host:port. Make it inside the running loop, and close it at the end."""

    def __init__(self, address: str, token: str) -> None:
        self._channel = channel(address, token)
        self._stub = sandbox_pb2_grpc.SandboxServiceStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close(None)

    async def run(self, program: Program, tenant_id: str = "", run_id: str = "", wait_s: float = WAIT_S) -> Ran:
        """Run a program of a run of a tenant and return what it did.

        A sandbox that fails or does not answer is a Ran of INFRA_ERROR. Raises SandboxBusy if no place is free within
        `wait_s`, and ProgramRefused. A caller that is cancelled ends its program.
        """
        deadline_s = wait_s + program.limits.wall_s + ANSWER_S
        try:
            response = await self._stub.Run(request(program, tenant_id, run_id, wait_s), timeout=deadline_s)
        except grpc.aio.AioRpcError as error:
            return _failed(error)
        return ran(response)

    async def describe(self, timeout_s: float) -> Walls:
        """Return how programs are isolated. Raises grpc.aio.AioRpcError."""
        found = await self._stub.Describe(sandbox_pb2.DescribeRequest(), timeout=timeout_s)
        return Walls(found.isolation, tuple(found.forbidden), found.places, found.running, found.waiting)


def request(
    program: Program, tenant_id: str = "", run_id: str = "", wait_s: float = WAIT_S,
) -> sandbox_pb2.RunRequest:
    """Return the message that asks for a run. Raises ProgramRefused if an argument is no JSON value."""
    return sandbox_pb2.RunRequest(
        tenant_id=tenant_id, run_id=run_id, source=program.source, files=program.files, stdin=program.stdin,
        limits=_limits(program.limits), function=program.function,
        calls_json=[_arguments(place, call) for place, call in enumerate(program.calls)], wait_s=wait_s)


def ran(response: sandbox_pb2.RunResponse) -> Ran:
    """Return the result of a program from its message."""
    return Ran(
        Ended[sandbox_pb2.RunStatus.Name(response.status).removeprefix("RUN_STATUS_")], response.detail,
        tuple(map(_outcome, response.outcomes)), response.stdout, response.stderr, response.wall_ms, response.cpu_ms,
        response.exit_code if response.HasField("exit_code") else None)


def _limits(limits: Limits) -> sandbox_pb2.RunLimits:
    return sandbox_pb2.RunLimits(
        wall_s=limits.wall_s, call_s=limits.call_s or 0.0, cpu_s=limits.cpu_s, memory_bytes=limits.memory_bytes,
        output_bytes=limits.output_bytes, file_bytes=limits.file_bytes, processes=limits.processes)


def _arguments(place: int, call: Sequence[Any]) -> str:
    try:
        return json.dumps(list(call))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProgramRefused(f"calls[{place}]: found {str(call)[:200]!r}, expected JSON values ({error})") from error


def _outcome(message: sandbox_pb2.CallOutcome) -> Outcome:
    if message.HasField("value_json"):
        try:
            return Outcome(json.loads(message.value_json))
        except (ValueError, RecursionError) as error:
            return Outcome(error=f"it returned what is no JSON: {error}")
    return Outcome(error=message.error or "it raised an error")


def _failed(error: grpc.aio.AioRpcError) -> Ran:
    if error.code() in _BUSY and not errors.too_long(error):
        raise SandboxBusy(errors.reason(error)) from error
    if error.code() in _WRONG or errors.too_long(error):
        raise ProgramRefused(errors.reason(error)) from error
    return Ran(Ended.INFRA_ERROR, f"the sandbox did not answer: {error.code().name}: {errors.reason(error)}")
