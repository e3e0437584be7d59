"""`python -m services.value`: serve budgets and baselines until SIGTERM."""

import uvloop

from hone.api import value_pb2, value_pb2_grpc
from hone.process import startup
from hone.process.memory import MemoryLimit
from hone.rpc.server import serve
from hone.rpc.tenancy import Tenancy
from hone.spec import settings
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from services.value.service import Value

SERVICE = value_pb2.DESCRIPTOR.services_by_name["ValueService"].full_name


async def run(chosen: Settings, memory: MemoryLimit | None) -> None:
    """Serve until a stop signal."""
    database = AsyncDatabase(chosen.database_url)
    value = Value(database, chosen.value)
    await database.open()
    try:
        await serve(chosen.addresses.value, SERVICE, chosen.stack_token,
                    lambda server: value_pb2_grpc.add_ValueServiceServicer_to_server(value, server), Tenancy(database),
                    memory)
    finally:
        await database.close()


def main() -> None:
    chosen = settings.load("stack_token")
    memory = startup.begin("value", chosen)
    uvloop.run(run(chosen, memory))


if __name__ == "__main__":
    main()
