"""`python -m services.inference`: serve models until SIGTERM, each at its newest version."""

import os

# Libraries read these as they load: no threads of their own, and sums whose order depends on no memory address.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

import asyncio
import hashlib
import logging
import socket

import grpc
import uvloop
from psycopg import OperationalError

from hone.api import inference_pb2, inference_pb2_grpc
from hone.process import ending, startup
from hone.process.memory import MemoryLimit
from hone.rpc import server
from hone.rpc.tenancy import Tenancy
from hone.spec import settings
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import AsyncDatabase
from hone.store.notifications import follow
from services.inference import engines
from services.inference.loaded_models import LoadedModels
from services.inference.registration import Registration
from services.inference.requests import Limits
from services.inference.service import Inference
from services.inference.thread import EngineThread
from services.inference.versions import Versions

SERVICE = inference_pb2.DESCRIPTOR.services_by_name["InferenceService"].full_name
_GRACE_S = 2.0
EXIT_STUCK = 70
_log = logging.getLogger(__name__)


async def run(chosen: Settings, memory: MemoryLimit | None) -> None:
    """Serve until SIGTERM. Then end running requests early, and delete the engine's rows."""
    database = AsyncDatabase(chosen.database_url, size=3)
    await database.open()
    kind = engines.kind(chosen)
    registration = Registration(database, _engine_id(chosen), chosen.addresses.inference, kind)
    models = LoadedModels(chosen, kind, Versions(database, objects.connect(chosen.objects_url)), registration)
    models.thread.start()
    tenancy = Tenancy(database)
    inference = Inference(
        Limits(chosen.engine.max_tokens, kind.least_temperature), models, registration.engine_id, tenancy.rows)
    serving = await server.start(
        chosen.addresses.inference, SERVICE, chosen.stack_token,
        lambda grpc_server: inference_pb2_grpc.add_InferenceServiceServicer_to_server(inference, grpc_server), tenancy,
        memory)
    tasks = [asyncio.create_task(work) for work in (
        registration.write_forever(chosen.sweep_s), models.follow_forever(),
        end_when_stuck(models.thread, chosen.engine.stall_s),
        follow(chosen.database_url, "versions", models.kick))]
    await _stopped(tasks)
    await _end(tasks, registration, models, serving)
    await tenancy.close()
    await database.close()
    if models.thread.failure is not None:
        raise models.thread.failure


async def end_when_stuck(thread: EngineThread, limit_s: float) -> None:
    """End this process when one step takes longer than `limit_s`. Other engines then get its requests."""
    while thread.busy_s <= limit_s:
        await asyncio.sleep(limit_s / 4)
    _log.critical("the engine's step has taken %.0f s; this process ends", thread.busy_s)
    os._exit(EXIT_STUCK)  # the thread cannot be ended, so an orderly exit would wait for it forever


async def _stopped(tasks: list[asyncio.Task[None]]) -> None:
    """Return at SIGTERM or SIGINT. Raises the error of a task that failed; no task ends otherwise."""
    waiting = asyncio.create_task(ending.stop_signal())
    done, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        await task


async def _end(
    tasks: list[asyncio.Task[None]], registration: Registration, models: LoadedModels, serving: grpc.aio.Server
) -> None:
    await ending.cancelled(tasks)
    try:
        async with asyncio.timeout(_GRACE_S):
            await registration.leave()
    except (OperationalError, TimeoutError) as error:
        _log.warning("engine row not deleted: %s", error)
    if models.thread.failure is None:
        await models.thread.abort(models.thread.requests())
    await serving.stop(_GRACE_S)
    models.thread.stop()


def _engine_id(chosen: Settings) -> str:
    """Return the supervisor's name for this process, or else a name made from a digest of its address.

    Tenants see the name, so it must not contain the address.
    """
    place = f"{socket.gethostname()}:{chosen.addresses.inference.rpartition(':')[2]}"
    return chosen.process_name or f"inference-{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def main() -> None:
    chosen = settings.load("stack_token")
    ending.skip_tidying()
    memory = startup.begin("inference", chosen)
    uvloop.run(run(chosen, memory))


if __name__ == "__main__":
    main()
