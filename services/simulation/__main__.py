"""`python -m services.simulation`: serve environments until SIGTERM."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

if sys.flags.hash_randomization:
    # Some task generators iterate over sets of text: the same seed must give the same task in every process.
    os.execve(sys.executable, [sys.executable, "-m", "services.simulation"], {**os.environ, "PYTHONHASHSEED": "0"})

import uvloop

from hone import ids
from hone.api import simulation_pb2, simulation_pb2_grpc
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.foreign import places
from hone.environments.foreign.verifiers_session import PROGRAMS
from hone.environments.packages.environment import PackagedWorld
from hone.environments.tau2.environment import Tau2World
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
from services.simulation.audiences.service import audiences
from services.simulation.packages.making import PackageJobs
from services.simulation.packages.shelf import PackageShelf
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions

SERVICE = simulation_pb2.DESCRIPTOR.services_by_name["SimulationService"].full_name


async def run(chosen: Settings, memory: MemoryLimit | None) -> None:
    """Serve until a stop signal. Where there is a database, audiences are served too."""
    simulation = Simulation(chosen.addresses.simulation, Sessions(most=chosen.tenant_sessions))
    async with AsyncExitStack() as stack:
        if chosen.database_url:
            simulation.audiences = await stack.enter_async_context(audiences(chosen))
            await stack.enter_async_context(_packages(chosen))
            await stack.enter_async_context(_worlds(chosen))
        await serve(
            chosen.addresses.simulation, SERVICE, chosen.stack_token,
            lambda server: simulation_pb2_grpc.add_SimulationServiceServicer_to_server(simulation, server),
            memory=memory)


@asynccontextmanager
async def _packages(chosen: Settings) -> AsyncIterator[None]:
    """Play environment packages and domains, whose tools the sandbox runs, and make some from hints."""
    database, client = AsyncDatabase(chosen.database_url, size=4), connections()
    world, domains = ENVIRONMENTS["package"], ENVIRONMENTS["tau2"]
    assert isinstance(world, PackagedWorld)
    assert isinstance(domains, Tau2World)
    await database.open()
    try:
        async with Sandbox(chosen.addresses.sandbox, chosen.stack_token) as sandbox:
            world.shelf = domains.shelf = shelf = PackageShelf(database, sandbox)
            judges = AskedJudges(chosen, database, client)
            async with PackageJobs(database, shelf, judges, chosen.process_name or ids.new("simulation")).working():
                yield
    finally:
        world.shelf = domains.shelf = None
        await client.aclose()
        await database.close()


@asynccontextmanager
async def _worlds(chosen: Settings) -> AsyncIterator[None]:
    """Play worlds of others, by the names that tenants and the operator gave them."""
    database = AsyncDatabase(chosen.database_url, size=2)
    own = places.read(chosen.worlds)
    await database.open()
    try:
        places.LOOKUP.atlas = StoredAtlas(database, chosen.stack_token, own)
        yield
    finally:
        places.LOOKUP.atlas = None
        PROGRAMS.close()
        await database.close()


def main() -> None:
    chosen = settings.load("stack_token")
    memory = startup.begin("simulation", chosen)
    uvloop.run(run(chosen, memory))


if __name__ == "__main__":
    main()
