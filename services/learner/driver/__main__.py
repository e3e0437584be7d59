"""`python -m services.learner.driver`: one driver process, with the Learner service beside it."""

import uvloop
from prometheus_client.core import Metric

from hone.api import learner_pb2, learner_pb2_grpc
from hone.harnesses import own
from hone.process import startup
from hone.process.ending import vital_thread
from hone.rpc.server import serve
from hone.spec import settings
from hone.store.database import Database
from hone.telemetry import metrics
from hone.telemetry.gauges import STATEMENTS, families
from services.learner.driver.process import Driver
from services.learner.driver.service import LearnerService


def main() -> None:
    """Run a driver until SIGTERM or SIGINT."""
    configuration = settings.load("stack_token")
    own.add(configuration.harnesses)
    startup.begin("driver", configuration)
    if configuration.telemetry.metrics_address:
        _serve_gauges(Database(configuration.database_url, size=1))
    driver = Driver(configuration, startup.name(configuration))
    worker = vital_thread("the driver", driver.run)
    worker.start()
    service = LearnerService(Database(configuration.database_url))
    try:
        uvloop.run(serve(
            configuration.addresses.learner, learner_pb2.DESCRIPTOR.services_by_name["LearnerService"].full_name,
            configuration.stack_token,
            lambda server: learner_pb2_grpc.add_LearnerServiceServicer_to_server(service, server)))
    finally:
        driver.stop()
        worker.join()


def _serve_gauges(database: Database) -> None:
    """Read the gauges of all runs from rows at each scrape. A scrape fails while the database is away."""

    def read() -> list[Metric]:
        return list(families({name: database.all(name) for name in STATEMENTS}))

    metrics.add(read)


if __name__ == "__main__":
    main()
