"""`python -m services.learner.driver`: one driver process, with the Learner service beside it."""

import os
import socket
import threading

import uvloop

from hone.api import learner_pb2, learner_pb2_grpc
from hone.rpc.server import serve
from hone.spec import settings
from hone.store.database import Database
from hone.telemetry import process
from services.learner.driver import gauges
from services.learner.driver.process import Driver
from services.learner.driver.service import Learner


def main() -> None:
    """Run a driver until SIGTERM or SIGINT."""
    configuration = settings.load()
    process.begin("driver", configuration)
    if configuration.metrics_address:
        gauges.show(configuration.database_url)
    driver = Driver(configuration, configuration.process_name or f"{socket.gethostname()}:{os.getpid()}")
    worker = threading.Thread(target=_drive_or_die, args=[driver])
    worker.start()
    service = Learner(Database(configuration.database_url))
    try:
        uvloop.run(serve(
            configuration.learner_address, learner_pb2.DESCRIPTOR.services_by_name["LearnerService"].full_name,
            lambda server: learner_pb2_grpc.add_LearnerServiceServicer_to_server(service, server)))
    finally:
        driver.stop()
        worker.join()


def _drive_or_die(driver: Driver) -> None:
    """A driver thread that dies takes the process with it, so that the supervisor starts another."""
    try:
        driver.run()
    except BaseException:
        import logging

        logging.getLogger(__name__).exception("the driver ends")
        os._exit(1)


if __name__ == "__main__":
    main()
