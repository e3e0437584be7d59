"""`python -m services.rollout`: a Celery worker that hints wake, until SIGTERM."""

import asyncio
import logging
import socket
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop
from celery import Celery, signals

from hone.harnesses import own
from hone.process import startup
from hone.queues import application
from hone.queues.topology import CLAIM_ROLLOUTS
from hone.spec import settings
from hone.telemetry import metrics, tracing
from services.rollout.claims import SHARES
from services.rollout.worker import Worker

Result = TypeVar("Result")
THREADS = 2 * SHARES
"""Hints that a process works on at the same time. One tenant's groups leave half of them free for other tenants."""


class LoopThread:
    """An asyncio loop in a thread of its own. It runs coroutines for Celery's threads."""

    def __init__(self, name: str) -> None:
        self._loop = uvloop.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name=name, daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Start a coroutine and return its future."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end and return its result."""
        return self.submit(work).result()


def main() -> None:
    configuration = settings.load("stack_token")
    own.add(configuration.harnesses)
    memory = startup.begin("rollout", configuration)
    loop = LoopThread("rollout")
    worker = loop.run(Worker.open(configuration))
    if memory is not None:
        memory.before_end = worker.blame
    celery = application.create(configuration)
    _listen(celery, loop, worker)
    loop.submit(worker.resume())
    celery.Worker(
        pool="threads", concurrency=THREADS, quiet=True, without_mingle=True,
        without_gossip=True, hostname=f"{configuration.process_name or 'rollout'}@{socket.gethostname()}",
    ).start()


def _listen(celery: Celery, loop: LoopThread, worker: Worker) -> None:
    """Have each hint wake the worker, and the stop signal release its claims."""
    def claim(task: Any) -> None:
        metrics.HINTS_RECEIVED.inc()
        loop.run(worker.work(task.request.get(tracing.HEADER)))

    def stop(**_: Any) -> None:
        loop.submit(worker.close())

    celery.task(claim, name=CLAIM_ROLLOUTS, bind=True)
    signals.worker_shutting_down.connect(stop, weak=False)
    signals.setup_logging.connect(_keep_our_logging, weak=False)


def _keep_our_logging(**_: Any) -> None:
    """Leave logging as it is: Celery sets it up itself unless this signal has a receiver. Hints are not logged."""
    logging.captureWarnings(True)
    for chatty in ("celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


if __name__ == "__main__":
    main()
