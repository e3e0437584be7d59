"""`python -m services.door`: the way into the stack for gRPC clients of other systems, until SIGTERM."""

import asyncio
import logging

import grpc
import uvloop
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from psycopg import OperationalError

from hone.process import ending, startup
from hone.process.heartbeat import AsyncHeartbeat, interval_s
from hone.rpc.border import ReadRequests, RichErrors
from hone.rpc.engines import Engines
from hone.rpc.server import GRACE_S
from hone.spec import settings
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from services.door import connections
from services.door.audit import Audit
from services.door.backends import Backends
from services.door.call import SERVICES
from services.door.certificates import Certificates
from services.door.forwarding import Door, Stations
from services.door.health import follow_forever
from services.door.keys import KeyHolders
from services.door.quotas import Quotas
from services.door.running import RunningCalls

_log = logging.getLogger(__name__)


async def run(chosen: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Then running calls have `GRACE_S` seconds to end."""
    database = AsyncDatabase(chosen.gateway_database_url)
    await database.open()
    engines = Engines(database, chosen.sweep_s)
    backends, checks = Backends(chosen, engines), health.aio.HealthServicer()  # type: ignore[attr-defined]
    running = RunningCalls(database, chosen.door.calls, chosen.door.message_mb * 2**20)
    heartbeat = AsyncHeartbeat(database, "door", startup.name(chosen))
    server = _server(chosen, Door(Stations(
        KeyHolders(database), running, Quotas(database), backends, Audit(database))), checks)
    tasks = [asyncio.create_task(work) for work in (
        engines.follow_forever(), follow_forever(backends, checks), running.end_forever(),
        _report_forever(heartbeat, chosen.lease_s))]
    await server.start()
    await ending.stop_signal()
    await checks.enter_graceful_shutdown()
    await ending.cancelled(tasks)
    await server.stop(GRACE_S)
    await backends.close()
    await _leave(heartbeat)
    await database.close()


async def _report_forever(heartbeat: AsyncHeartbeat, lease_s: float) -> None:
    """Report that this door is alive, three times in each lease, until cancelled."""
    while True:
        try:
            await heartbeat.beat()
        except OperationalError as error:
            _log.warning("the door's heartbeat is not written: %s", error)
        await asyncio.sleep(interval_s(lease_s))


async def _leave(heartbeat: AsyncHeartbeat) -> None:
    try:
        async with asyncio.timeout(GRACE_S):
            await heartbeat.leave()
    except (OperationalError, TimeoutError) as error:
        _log.warning("the door's row is not deleted: %s", error)


def _server(chosen: Settings, door: Door, checks: object) -> grpc.aio.Server:
    """Return the server at the door's address. Raises OSError if the address is taken or the certificate is missing."""
    passed = [door, RichErrors(), ReadRequests()]
    server = grpc.aio.server(interceptors=passed, options=connections.options(chosen.door))
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    names = [*(service.full_name for service in SERVICES.values()), health.SERVICE_NAME, reflection.SERVICE_NAME]
    reflection.enable_server_reflection(names, server)
    address = chosen.addresses.door
    if server.add_secure_port(address, Certificates(chosen.door).credentials()) == 0:
        raise OSError(f"cannot listen on {address} with the certificate {chosen.door.cert}")
    return server


def main() -> None:
    chosen = settings.load("stack_token", "gateway_database_url")
    startup.begin("door", chosen)
    uvloop.run(run(chosen))


if __name__ == "__main__":
    main()
