"""`python -m services.rollout`: a Celery worker that hints wake, until SIGTERM."""

import logging
import socket
from typing import Any

from celery import Celery, signals

from hone.process import startup
from hone.queues import application
from hone.queues.topology import CLAIM_ROLLOUTS
from hone.spec import settings
from hone.telemetry import metrics, tracing
from services.rollout.loop import LoopThread
from services.rollout.worker import Worker

THREADS = 2
"""Hints that a process works on at the same time."""


def main() -> None:
    configuration = settings.load()
    startup.begin("rollout", configuration)
    loop = LoopThread("rollout")
    worker = loop.run(Worker.open(configuration))
    celery = application.create(configuration)
    _listen(celery, loop, worker)
    loop.submit(worker.resume())
    celery.Worker(
        pool="threads", concurrency=THREADS, quiet=True, without_mingle=True,
        without_gossip=True, hostname=f"{configuration.process_name or 'rollout'}@{socket.gethostname()}",
    ).start()


def _listen(celery: Celery, loop: LoopThread, worker: Worker) -> None:
    """Let hints wake the worker, and the signal to stop give its claims back."""
    def claim(task: Any) -> None:
        metrics.HINTS_RECEIVED.inc()
        loop.run(worker.work(task.request.get(tracing.HEADER)))

    def stop(**_: Any) -> None:
        loop.submit(worker.close())

    celery.task(claim, name=CLAIM_ROLLOUTS, bind=True)
    signals.worker_shutting_down.connect(stop, weak=False)
    signals.setup_logging.connect(_keep_ours, weak=False)


def _keep_ours(**_: Any) -> None:
    """With a receiver for this signal Celery leaves logging as it is; that a hint came is not worth a line."""
    logging.captureWarnings(True)
    for chatty in ("celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


if __name__ == "__main__":
    main()
