"""The gRPC server of every service: health checks, reflection, rich errors, graceful shutdown."""

import logging
from collections.abc import Callable

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from hone.process.ending import stop_signal
from hone.process.memory import MemoryLimit
from hone.rpc.border import ReadRequests, RichErrors, StackCalls
from hone.rpc.observation import server_interceptors
from hone.rpc.running import RunningCalls
from hone.rpc.tenancy import Tenancy, TenantCalls

MAX_MESSAGE_BYTES = 256 * 2**20
OPTIONS = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
           ("grpc.so_reuseport", 0)]
GRACE_S = 4.0  # the supervisor waits 5


async def start(
    address: str, service: str, token: str, register: Callable[[grpc.aio.Server], None], tenancy: Tenancy | None = None,
    memory: MemoryLimit | None = None,
) -> grpc.aio.Server:
    """Start serving `service` (its full protobuf name) at host:port to callers that show the stack's `token`.

    `tenancy` limits calls that came through the door; without it the service itself does. When the process ends at the
    limit of its `memory`, the callers whose calls run are told.

    Return the server. Raises OSError if the address is taken, and ValueError for an empty token.
    """
    if not token:
        raise ValueError(f"token of the stack: found nothing, expected what callers of {service} show")
    running = RunningCalls()
    if memory is not None:
        memory.before_end = running.end
    interceptors = [StackCalls(token), RichErrors(), *server_interceptors(), running, ReadRequests(),
                    TenantCalls(tenancy)]
    server = grpc.aio.server(interceptors=interceptors, options=OPTIONS)
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


async def serve(
    address: str, service: str, token: str, register: Callable[[grpc.aio.Server], None], tenancy: Tenancy | None = None,
    memory: MemoryLimit | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT. Then running calls have `GRACE_S` seconds to end."""
    server = await start(address, service, token, register, tenancy, memory)
    await stop_signal()
    await server.stop(GRACE_S)
    if tenancy:
        await tenancy.close()
