"""The state of the deployment: /v1/health, /v1/engines, and /metrics for Prometheus.

`/healthz` needs no key and speaks for this process only; every other path needs a key.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress

import grpc
from fastapi import APIRouter
from grpc_health.v1 import health_pb2, health_pb2_grpc
from kombu import Connection
from starlette.responses import PlainTextResponse

from hone.client.resources import Engine, EngineModel, Health, Page, ServiceHealth
from hone.process import disks
from hone.process.heartbeat import REMEMBERED_LEASES, worker_is_alive
from hone.rpc.client import channel
from hone.sandbox.client import Sandbox
from hone.spec.settings import Settings
from hone.store.objects import ObjectMissing, Objects
from hone.telemetry import gauges
from services.gateway.admission.local_folders import watched
from services.gateway.admission.parameters import Config, Store
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller, TenantSession

router = APIRouter(tags=["health"])

Check = Callable[[], Awaitable[str]]
"""Asks one service; returns a word for a healthy one. Raises Unhealthy, or any exception of a service that is away."""
_log = logging.getLogger(__name__)

TIMEOUT_S = 3.0
_WORKERS = ("trainer", "rollout")
"""Kinds of processes that nobody calls: they report by heartbeats."""
_SERVERS = ("reward", "value", "simulation", "learner")
"""Services that answer gRPC at an address of the settings; inference engines report their addresses in rows."""


@router.get("/healthz")
async def alive() -> dict[str, bool]:
    """Answer that this gateway runs."""
    return {"ok": True}


@router.get("/v1/health", openapi_extra=needs("read", "health"))
async def health(caller: Caller, settings: Config, objects: Store) -> Health:
    """Check every service: database, object store, broker, gRPC services, engines, workers, disks of this machine."""
    checks = {
        "postgres": lambda: _postgres(caller), "objects": lambda: _objects(objects),
        "broker": lambda: _broker(settings.broker_url),
        **{name: _grpc_check(getattr(settings.addresses, name)) for name in _SERVERS},
        "sandbox": lambda: _sandbox(settings), **await _engine_checks(caller, settings),
    }
    answers = await asyncio.gather(*(_timed(name, check) for name, check in checks.items()))
    services = [*answers, *await _workers(caller, settings), *await asyncio.to_thread(_disks, settings)]
    return Health(ok=all(service.ok for service in services), services=services)


class Unhealthy(Exception):
    """A service is not well. Every tenant may read the message, so it holds no address."""


async def _timed(name: str, check: Check) -> ServiceHealth:
    started = time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            ok, detail = True, await check()
    except TimeoutError:
        ok, detail = False, f"no answer within {TIMEOUT_S:.0f} s"
    except Unhealthy as error:
        ok, detail = False, str(error)
    except Exception as error:  # its message may hold addresses, so only the log has it
        _log.warning("%s is unhealthy: %s", name, error)
        ok, detail = False, f"does not answer: {type(error).__name__}"
    return ServiceHealth(name=name, ok=ok, detail=detail, ms=round(1000 * (time.monotonic() - started), 1))


async def _postgres(session: TenantSession) -> str:
    async with session.transaction() as transaction:
        await transaction.one("server.alive")
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
        async with channel(address, token="") as connection:
            stub = health_pb2_grpc.HealthStub(connection)
            try:
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)
            except grpc.aio.AioRpcError as error:
                _log.warning("%s is unhealthy: %s", address, error.details())
                raise Unhealthy(error.code().name) from None
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            raise Unhealthy(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
        return "serving"

    return check


async def _sandbox(settings: Settings) -> str:
    """Ask the sandbox for the walls around its programs."""
    async with Sandbox(settings.addresses.sandbox, settings.stack_token) as sandbox:
        try:
            walls = await sandbox.describe(TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            _log.warning("%s is unhealthy: %s", settings.addresses.sandbox, error.details())
            raise Unhealthy(error.code().name) from None
    return f"isolation {walls.isolation}, {walls.running} of {walls.places} places used, {walls.waiting} wait"


async def _engine_checks(session: TenantSession, settings: Settings) -> dict[str, Check]:
    async with session.transaction() as transaction:
        rows = await transaction.all("engines.addresses", fresh_s=REMEMBERED_LEASES * settings.lease_s)
    if not rows:
        return {"inference": _grpc_check(settings.addresses.inference)}
    return {f"inference {row['id']}": _grpc_check(row["address"]) for row in rows}


async def _workers(session: TenantSession, settings: Settings) -> list[ServiceHealth]:
    async with session.transaction() as transaction:
        rows = await transaction.all("workers.all")
    known = [_worker(f"{row['kind']} {row['id']}", row["age_s"], settings.lease_s) for row in rows
             if row["age_s"] < REMEMBERED_LEASES * settings.lease_s]
    absent = [kind for kind in _WORKERS if not any(one.name.startswith(f"{kind} ") for one in known)]
    return [*(ServiceHealth(name=kind, ok=False, detail="none has reported", ms=None) for kind in absent), *known]


def _worker(name: str, age_s: float, lease_s: float) -> ServiceHealth:
    ok = worker_is_alive(age_s, lease_s)
    return ServiceHealth(name=name, ok=ok, detail=f"reported {age_s:.1f} s ago" if ok else f"silent for {age_s:.0f} s",
                         ms=None)


def _disks(settings: Settings) -> list[ServiceHealth]:
    """Return the free space on the disks that this gateway and, in an embedded stack, the other processes write to."""
    low = settings.disk_low_gb * 2**30
    return [ServiceHealth(name=f"disk {disk.directory}", ok=not disk.full,
                          detail=disk.shortage(low) or f"{disk.left} left", ms=None)
            for disk in disks.look(watched(settings))]


@router.get("/v1/engines", openapi_extra=needs("read", "engines"))
async def engines(caller: Caller) -> Page[Engine]:
    """List inference engines with the versions of your models that they hold, and the amounts they generated."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("engines.all")
        models = await transaction.all("engines.models")
    held: dict[str, list[EngineModel]] = defaultdict(list)
    for model in models:
        held[model["engine_id"]].append(EngineModel.model_validate(model))
    return Page(data=[Engine.model_validate({**row, "models": held[row["id"]]}) for row in rows])


@router.get("/metrics", response_class=PlainTextResponse, openapi_extra=needs("read", "health"))
async def metrics(caller: Caller) -> PlainTextResponse:
    """Return the caller's runs, groups, steps, staleness, gap, engines and workers for Prometheus."""
    async with caller.transaction() as transaction:
        rows = {name: await transaction.all(name) for name in gauges.STATEMENTS}
    return PlainTextResponse(gauges.text(rows), media_type="text/plain; version=0.0.4")
