"""The gRPC server of every service: health checks, reflection, rich errors, graceful shutdown."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from hone.process.ending import stop_signal
from hone.rpc.errors import RpcError, abort
from hone.rpc.observation import server_interceptors

MAX_MESSAGE_BYTES = 256 * 2**20
OPTIONS = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
           ("grpc.so_reuseport", 0)]
GRACE_S = 4.0  # the supervisor waits 5


class RichErrors(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Turns an RpcError that a servicer raises into the status of the call, with its details."""

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        if handler.response_streaming:
            return handler._replace(unary_stream=_guarded_stream(handler.unary_stream))
        return handler._replace(unary_unary=_guarded(handler.unary_unary))


def _guarded(behaviour: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def call(request: Any, context: Any) -> Any:
        try:
            return await behaviour(request, context)
        except RpcError as error:
            return await abort(context, error)

    return call


def _guarded_stream(behaviour: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async for response in behaviour(request, context):
                yield response
        except RpcError as error:
            await abort(context, error)

    return call


async def start(address: str, service: str, register: Callable[[grpc.aio.Server], None]) -> grpc.aio.Server:
    """Start serving `service` (its full protobuf name) at host:port and return the server."""
    server = grpc.aio.server(interceptors=[RichErrors(), *server_interceptors()], options=OPTIONS)
    register(server)
    checks = health.aio.HealthServicer()  # type: ignore[attr-defined]  # stubs lack it
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    reflection.enable_server_reflection([service, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    if server.add_insecure_port(address) == 0:
        raise OSError(f"cannot listen on {address}")
    await server.start()
    for name in ("", service):
        await checks.set(name, health_pb2.HealthCheckResponse.SERVING)
    logging.getLogger(service).info("serving on %s", address)
    return server


async def serve(address: str, service: str, register: Callable[[grpc.aio.Server], None]) -> None:
    """Serve until SIGTERM or SIGINT. Then running calls have `GRACE_S` seconds to end."""
    server = await start(address, service, register)
    await stop_signal()
    await server.stop(GRACE_S)
