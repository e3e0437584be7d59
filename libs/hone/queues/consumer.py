"""Celery's consumer with two changes: it reconnects quickly, and unreadable messages become dead letters."""

import logging
from typing import Any

from celery.worker import consumer
from celery.worker.state import maybe_shutdown

from hone.queues.application import declare

_log = logging.getLogger(__name__)


class Consumer(consumer.Consumer):  # type: ignore[misc]
    """The consumer that the Celery setting `worker_consumer` names."""

    def ensure_connected(self, conn: Any) -> Any:
        """Connect, with at most a second between two attempts. Celery's own pauses grow to 32 s."""
        def unreachable(error: Exception, interval: float) -> None:
            _log.warning("the broker does not answer, next attempt in %.1f s: %s", interval, error)

        conn.ensure_connection(unreachable, None, interval_start=0.2, interval_step=0.2, interval_max=1.0,
                               callback=maybe_shutdown)
        declare(conn)
        return conn

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Reject a body that is no JSON. Celery would acknowledge it."""
        fields = {"content_type": message.content_type}
        _log.warning("a message became a dead letter, its body cannot be read: %s", exc, extra={"fields": fields})
        message.reject_log_error(_log, self.connection_errors)
