"""`python -m services.simulation`: serve environments until SIGTERM."""

import os
import sys

if sys.flags.hash_randomization:
    # Some task generators iterate over sets of text: the same seed must give the same task in every process.
    os.execve(sys.executable, [sys.executable, "-m", "services.simulation"], {**os.environ, "PYTHONHASHSEED": "0"})

import uvloop

from hone.api import simulation_pb2, simulation_pb2_grpc
from hone.process import startup
from hone.rpc.server import serve
from hone.spec import settings
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions

SERVICE = simulation_pb2.DESCRIPTOR.services_by_name["SimulationService"].full_name


def main() -> None:
    chosen = settings.load("stack_token")
    memory = startup.begin("simulation", chosen)
    simulation = Simulation(chosen.addresses.simulation, Sessions(most=chosen.tenant_sessions))
    uvloop.run(serve(
        chosen.addresses.simulation, SERVICE, chosen.stack_token,
        lambda server: simulation_pb2_grpc.add_SimulationServiceServicer_to_server(simulation, server), memory=memory))


if __name__ == "__main__":
    main()
