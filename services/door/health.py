"""The health of the services behind the door, checks by the door's own health checks."""

import asyncio
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2

from hone.rpc.errors import RpcError
from services.door.backends import Backends
from services.door.call import SERVICES

_PAUSE_S = 1.0
_CHECK = f"/{health.SERVICE_NAME}/Check"
_SERVING, _NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


async def follow_forever(backends: Backends, checks: Any) -> None:
    """Ask every service every second and set in `checks` (a health servicer) its state, until cancelled.

    The name of a service stands for that service, the empty name for the door itself, which serves.
    """
    await checks.set("", _SERVING)
    while True:
        states = await asyncio.gather(*(_serves(backends, name) for name in SERVICES))
        for service, serves in zip(SERVICES.values(), states, strict=True):
            await checks.set(service.full_name, _SERVING if serves else _NOT_SERVING)
        await asyncio.sleep(_PAUSE_S)


async def _serves(backends: Backends, name: str) -> bool:
    """Whether a service answers at one of its addresses."""
    try:
        addresses = await backends.addresses(name)
    except RpcError:
        return False
    answers = await asyncio.gather(*(_answers(backends, address) for address in addresses))
    return any(answers)


async def _answers(backends: Backends, address: str) -> bool:
    try:
        raw = await backends.method(address, _CHECK)(b"", timeout=_PAUSE_S)
    except grpc.aio.AioRpcError:
        return False
    return bool(health_pb2.HealthCheckResponse.FromString(raw).status == _SERVING)
