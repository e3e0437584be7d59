"""`python -m services.reward`: grade samples until SIGTERM."""

import uvloop

from hone import ids
from hone.api import reward_pb2, reward_pb2_grpc
from hone.jobs.worker import Worker
from hone.judges.asking import AskedJudges
from hone.judges.endpoint import connections
from hone.process import startup
from hone.process.memory import MemoryLimit
from hone.rpc.server import serve
from hone.rpc.tenancy import Tenancy
from hone.sandbox.client import Sandbox
from hone.spec import settings
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import AsyncDatabase
from services.reward.checks.making import CheckParts, GraderChecks
from services.reward.checks.rows import CheckRows
from services.reward.checks.sets import LabelledSets
from services.reward.grading import Grading
from services.reward.jobs import Jobs
from services.reward.ledger import Ledger
from services.reward.pool import Pool
from services.reward.queue import KIND, GradingQueue, Part
from services.reward.second_opinions import SecondOpinions
from services.reward.service import Reward
from services.reward.stored_samples import StoredSamples
from services.reward.tools import Helpers
from services.reward.worlds import Worlds

SERVICE = reward_pb2.DESCRIPTOR.services_by_name["RewardService"].full_name


async def run(chosen: Settings, memory: MemoryLimit | None) -> None:
    """Serve until a stop signal, then end the pool's processes."""
    pool, database = Pool(chosen.grader_processes, budget_s=chosen.grader_budget_s), AsyncDatabase(chosen.database_url)
    client = connections()
    await database.open()
    sandbox = Sandbox(chosen.addresses.sandbox, chosen.stack_token)
    worlds = Worlds(chosen.addresses.simulation, chosen.stack_token)
    judges, owner = AskedJudges(chosen, database, client), chosen.process_name or ids.new("reward")
    grading, ledger, jobs = Grading(pool, Helpers(judges, sandbox, worlds)), Ledger(database), Jobs(database)
    store = objects.connect(chosen.objects_url)
    checks = GraderChecks(CheckParts(grading, judges, CheckRows(database), LabelledSets(database, store)))
    part = Part(grading, ledger, jobs, SecondOpinions(database, grading, ledger))
    grades = GradingQueue(part, chosen, chosen.grades_at_once)
    worker = Worker(database, owner, {KIND: grades.kind, "grader_check": checks.kind})
    stored = StoredSamples(database, store, worlds)
    reward = Reward(grading, ledger, grades, stored, chosen.tenant_samples)
    try:
        async with grades.hearing(worker.wake), worker.working():
            await serve(
                chosen.addresses.reward, SERVICE, chosen.stack_token,
                lambda server: reward_pb2_grpc.add_RewardServiceServicer_to_server(reward, server), Tenancy(database),
                memory)
    finally:
        await pool.close()
        await client.aclose()
        await sandbox.close()
        await worlds.close()
        await database.close()


def main() -> None:
    chosen = settings.load("stack_token")
    memory = startup.begin("reward", chosen)
    uvloop.run(run(chosen, memory))


if __name__ == "__main__":
    main()
