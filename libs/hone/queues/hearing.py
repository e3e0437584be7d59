"""A thread that hears hints, for a process that waits for rows anyway. Rollout workers are Celery workers instead."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kombu import Queue

from hone.queues.application import create, declare
from hone.spec.settings import Settings
from hone.telemetry import metrics

_log = logging.getLogger(__name__)
_LOOK_S, _PAUSE_S = 0.5, 1.0


class Hearing:
    """Calls a function for each hint of a queue until it is closed. While the broker is away it connects again."""

    def __init__(self, settings: Settings, queue: Queue, heard: Callable[[], object]) -> None:
        """`heard` is called in the thread. A hint is acknowledged before, because what it hints at is in rows."""
        self._application, self._queue, self._heard = create(settings), queue, heard
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"hints of {queue.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop soon. It does not wait for the broker."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._consume()
            except Exception as error:  # every transport has its own errors
                _log.warning("no hints of %s: %r", self._queue.name, error)
                self._closed.wait(_PAUSE_S)

    def _consume(self) -> None:
        with self._application.connection() as connection:
            connection.ensure_connection(max_retries=0)
            declare(connection)
            with connection.Consumer([self._queue], callbacks=[self._take], accept=["json"], prefetch_count=1):
                while not self._closed.is_set():
                    with suppress(TimeoutError):
                        connection.drain_events(timeout=_LOOK_S)
                    connection.heartbeat_check()

    def _take(self, body: Any, message: Any) -> None:  # noqa: ARG002
        message.ack()
        metrics.HINTS_RECEIVED.inc()
        self._heard()
