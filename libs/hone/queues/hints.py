"""Hints: messages that wake workers. A lost hint only costs time, so sending never blocks long or raises."""

import logging
import threading
from typing import Any

from kombu import Producer, Queue
from kombu.utils.uuid import uuid

from hone.queues.application import CONNECT_TIMEOUT_S, create, declare
from hone.queues.topology import CLAIM_ROLLOUTS, ROLLOUTS
from hone.spec.settings import Settings
from hone.telemetry import metrics, tracing

_log = logging.getLogger(__name__)
_TIMEOUTS = {"read_timeout": CONNECT_TIMEOUT_S, "write_timeout": CONNECT_TIMEOUT_S}


class Hints:
    """Sends hints to the workers of a queue. Threads that share one send in turns."""

    def __init__(self, settings: Settings, queue: Queue = ROLLOUTS, task: str = CLAIM_ROLLOUTS) -> None:
        self._application, self._queue, self._task = create(settings), queue, task
        self._connection: Any = None
        self._producer: Producer | None = None
        self._sending = threading.Lock()

    def send(self, count: int) -> int:
        """Send `count` hints and return how many the broker took: fewer if it is away or its queue is full.

        It takes about a second at most. The caller sends again for rows that stay unclaimed. In a trace, a hint carries
        the traceparent.
        """
        with self._sending:
            sent = self._send(count)
        metrics.HINTS_SENT.inc(sent)
        metrics.HINTS_LOST.inc(count - sent)
        return sent

    def _send(self, count: int) -> int:
        sent = 0
        try:
            while sent < count:
                self._publish()
                sent += 1
        except Exception as error:  # every transport has its own errors
            _log.warning("hints not sent: %r", error, extra={"fields": {"sent": sent, "wanted": count}})
            self.close()
        return sent

    def close(self) -> None:
        """Close the connection. The next `send` opens another one."""
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            connection.collect()

    def _publish(self) -> None:
        message: Any = self._application.amqp.as_task_v2(uuid(), self._task, ignore_result=True)
        place = tracing.current()
        headers = message.headers if place is None else {**message.headers, tracing.HEADER: place}
        self._ready().publish(message.body, exchange="", routing_key=self._queue.routing_key, serializer="json",
                              headers=headers, delivery_mode=2, retry=False,
                              confirm_timeout=CONNECT_TIMEOUT_S, **message.properties)

    def _ready(self) -> Producer:
        if self._producer is None:
            self._connection = self._application.connection(transport_options=_TIMEOUTS)
            self._connection.ensure_connection(max_retries=0)
            declare(self._connection)
            self._producer = Producer(self._connection.default_channel)
        return self._producer
