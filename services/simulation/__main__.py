"""`python -m services.simulation`: serve environments until SIGTERM."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

if sys.flags.hash_randomization:
    # Some task generators iterate over sets of text: the same seed must give the same task in every process.
    os.execve(sys.executable, [sys.executable, "-m", "services.simulation"], {**os.environ, "PYTHONHASHSEED": "0"})

import uvloop

from hone import ids
from hone.api import simulation_pb2, simulation_pb2_grpc
from hone.environments.capabilities import PlaysAdded
from hone.environments.catalogue import ENVIRONMENTS, able
from hone.environments.foreign import places
from hone.environments.foreign.verifiers_session import PROGRAMS
from hone.jobs.worker import Worker
from hone.judges.asking import AskedJudges
from hone.judges.endpoint import connections
from hone.process import startup
from hone.process.memory import MemoryLimit
from hone.rpc.server import serve
from hone.sandbox.client import Sandbox
from hone.spec import settings
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from services.simulation.atlas import StoredAtlas
from services.simulation.audiences.making import FitMaker
from services.simulation.audiences.rows import AudienceRows
from services.simulation.audiences.service import Audiences
from services.simulation.packages.making import PackageMaker
from services.simulation.packages.shelf import PackageShelf
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions

SERVICE = simulation_pb2.DESCRIPTOR.services_by_name["SimulationService"].full_name


async def run(chosen: Settings, memory: MemoryLimit | None) -> None:
    """Serve until a stop signal. Where there is a database, audiences and packages are made and served too."""
    simulation = Simulation(chosen.addresses.simulation, Sessions(most=chosen.tenant_sessions))
    async with AsyncExitStack() as stack:
        if chosen.database_url:
            await stack.enter_async_context(_stored(chosen, simulation))
        await serve(
            chosen.addresses.simulation, SERVICE, chosen.stack_token,
            lambda server: simulation_pb2_grpc.add_SimulationServiceServicer_to_server(simulation, server),
            memory=memory)


@asynccontextmanager
async def _stored(chosen: Settings, simulation: Simulation) -> AsyncIterator[None]:
    """Have the database's audiences, packages and named worlds served, and work on jobs."""
    database, client = AsyncDatabase(chosen.database_url), connections()
    await database.open()
    judges, fits = AskedJudges(chosen, database, client), AudienceRows(database)
    simulation.audiences = Audiences(fits, judges)
    try:
        async with Sandbox(chosen.addresses.sandbox, chosen.stack_token) as sandbox:
            shelf = PackageShelf(database, sandbox)
            worker = Worker(database, chosen.process_name or ids.new("simulation"), {
                "audience_fit": FitMaker(fits, judges, chosen.objects_url).kind,
                "package": PackageMaker(database, shelf, judges).kind})
            with _worlds(chosen, database, shelf):
                async with worker.working():
                    yield
    finally:
        await client.aclose()
        await database.close()


@contextmanager
def _worlds(chosen: Settings, database: AsyncDatabase, shelf: PackageShelf) -> Iterator[None]:
    """Play packages and domains, whose tools the sandbox runs, and worlds by the names that tenants gave them."""
    worlds = [world for name in able("plays_added") if isinstance(world := ENVIRONMENTS[name], PlaysAdded)]
    for world in worlds:
        world.shelf = shelf
    places.LOOKUP.atlas = StoredAtlas(database, chosen.stack_token, places.read(chosen.worlds))
    try:
        yield
    finally:
        for world in worlds:
            world.shelf = None
        places.LOOKUP.atlas = None
        PROGRAMS.close()


def main() -> None:
    chosen = settings.load("stack_token")
    memory = startup.begin("simulation", chosen)
    uvloop.run(run(chosen, memory))


if __name__ == "__main__":
    main()
