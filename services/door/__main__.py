"""`python -m services.door`: the way into the stack for gRPC clients of other systems, until SIGTERM."""

import asyncio

import grpc
import uvloop
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from hone.process import startup
from hone.process.ending import stop_signal
from hone.rpc.border import ReadRequests, RichErrors
from hone.rpc.server import GRACE_S, OPTIONS
from hone.spec import settings
from hone.spec.settings import DoorSettings, Settings
from hone.store.database import AsyncDatabase
from services.door.backends import SERVICES, Backends
from services.door.engines import Engines
from services.door.forwarding import Door
from services.door.health import follow_forever
from services.door.keys import KeyHolders


async def run(chosen: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Then running calls have `GRACE_S` seconds to end."""
    database = AsyncDatabase(chosen.gateway_database_url)
    await database.open()
    engines = Engines(database, chosen.sweep_s)
    backends, checks = Backends(chosen, engines), health.aio.HealthServicer()  # type: ignore[attr-defined]
    server = _server(chosen, Door(KeyHolders(database), backends), checks)
    tasks = [asyncio.create_task(work) for work in (engines.follow_forever(), follow_forever(backends, checks))]
    await server.start()
    await stop_signal()
    await checks.enter_graceful_shutdown()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.stop(GRACE_S)
    await backends.close()
    await database.close()


def _server(chosen: Settings, door: Door, checks: object) -> grpc.aio.Server:
    """Return the server at the door's address. Raises OSError if the address is taken or the certificate is missing."""
    server = grpc.aio.server(interceptors=[door, RichErrors(), ReadRequests()], options=OPTIONS)
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    names = [*(service.full_name for service in SERVICES.values()), health.SERVICE_NAME, reflection.SERVICE_NAME]
    reflection.enable_server_reflection(names, server)
    address = chosen.addresses.door
    if server.add_secure_port(address, _identity(chosen.door)) == 0:
        raise OSError(f"cannot listen on {address} with the certificate {chosen.door.cert}")
    return server


def _identity(door: DoorSettings) -> grpc.ServerCredentials:
    if door.cert is None or door.key is None:
        raise OSError("HONE_DOOR_CERT and HONE_DOOR_KEY: found nothing, expected PEM files")
    return grpc.ssl_server_credentials([(door.key.read_bytes(), door.cert.read_bytes())])


def main() -> None:
    chosen = settings.load("stack_token", "gateway_database_url")
    startup.begin("door", chosen)
    uvloop.run(run(chosen))


if __name__ == "__main__":
    main()
