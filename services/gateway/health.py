"""/v1/health: every service as the gateway sees it. /healthz: this process alone, without a key."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import grpc
from fastapi import APIRouter
from grpc_health.v1 import health_pb2, health_pb2_grpc
from kombu import Connection

from hone.client.resources import Health, ServiceHealth
from hone.process.heartbeat import REMEMBERED_LEASES, worker_is_alive
from hone.rpc.client import channel
from hone.spec.settings import Settings
from hone.store.objects import ObjectMissing, Objects
from services.gateway.parameters import Config, Store
from services.gateway.tenancy import Caller, Session

router = APIRouter(tags=["health"])
_log = logging.getLogger(__name__)

TIMEOUT_S = 3.0
_UNADDRESSED = ("trainer", "rollout")
_ADDRESSED = ("reward", "value", "simulation", "learner")


@router.get("/healthz")
async def alive() -> dict[str, bool]:
    """Tell that this gateway runs."""
    return {"ok": True}


@router.get("/v1/health")
async def health(caller: Caller, settings: Config, objects: Store) -> Health:
    """Ask every service how it is: database, object store, broker, gRPC services, engines."""
    checks = {
        "postgres": lambda: _postgres(caller), "objects": lambda: _objects(objects),
        "broker": lambda: _broker(settings.broker_url),
        **{name: _grpc_check(getattr(settings, f"{name}_address")) for name in _ADDRESSED},
        **await _engines(caller, settings),
    }
    asked = await asyncio.gather(*(_timed(name, check) for name, check in checks.items()))
    services = [*asked, *await _workers(caller, settings)]
    return Health(ok=all(service.ok for service in services), services=services)


Check = Callable[[], Awaitable[str]]


class NotWell(Exception):
    """A service is not well; the message is for whoever asks, of any tenant."""


async def _timed(name: str, check: Check) -> ServiceHealth:
    started = time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            ok, detail = True, await check()
    except TimeoutError:
        ok, detail = False, f"no answer within {TIMEOUT_S:.0f} s"
    except NotWell as error:
        ok, detail = False, str(error)
    except Exception as error:  # whatever a service's absence raises; its words may hold addresses, so the log has them
        _log.warning("%s is not well: %s", name, error)
        ok, detail = False, f"does not answer: {type(error).__name__}"
    return ServiceHealth(name=name, ok=ok, detail=detail, ms=round(1000 * (time.monotonic() - started), 1))


async def _postgres(session: Session) -> str:
    async with session.transaction() as transaction:
        await transaction.one("gateway.alive")
    return "answers"


async def _objects(objects: Objects) -> str:
    with suppress(ObjectMissing):
        await asyncio.to_thread(objects.get, "health/absent")
    return "answers"


async def _broker(url: str) -> str:
    def connect() -> None:
        with Connection(url, connect_timeout=TIMEOUT_S) as connection:
            connection.ensure_connection(max_retries=1, timeout=TIMEOUT_S)

    await asyncio.to_thread(connect)
    return "answers"


def _grpc_check(address: str) -> Check:
    async def check() -> str:
        async with channel(address) as connection:
            stub = health_pb2_grpc.HealthStub(connection)
            try:
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)
            except grpc.aio.AioRpcError as error:
                _log.warning("%s is not well: %s", address, error.details())
                raise NotWell(error.code().name) from None
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            raise NotWell(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
        return "serving"

    return check


async def _engines(session: Session, settings: Settings) -> dict[str, Check]:
    async with session.transaction() as transaction:
        rows = await transaction.all("gateway.engine_addresses", fresh_s=REMEMBERED_LEASES * settings.lease_s)
    if not rows:
        return {"inference": _grpc_check(settings.inference_address)}
    return {f"inference {row['id']}": _grpc_check(row["address"]) for row in rows}


async def _workers(session: Session, settings: Settings) -> list[ServiceHealth]:
    async with session.transaction() as transaction:
        rows = await transaction.all("workers.all")
    found = [_reported(f"{row['kind']} {row['id']}", row["age_s"], settings.lease_s) for row in rows
             if row["age_s"] < REMEMBERED_LEASES * settings.lease_s]
    absent = [kind for kind in _UNADDRESSED if not any(one.name.startswith(f"{kind} ") for one in found)]
    return [*(ServiceHealth(name=kind, ok=False, detail="none has reported", ms=None) for kind in absent), *found]


def _reported(name: str, age_s: float, lease_s: float) -> ServiceHealth:
    ok = worker_is_alive(age_s, lease_s)
    return ServiceHealth(name=name, ok=ok, detail=f"reported {age_s:.1f} s ago" if ok else f"silent for {age_s:.0f} s",
                         ms=None)
