"""A broker without a server: kombu's filesystem transport, made safe for many processes and for bad files.

kombu writes into a file that readers already see, so a reader can take half a message and end with an error
(docs/probes.md). Here a rename makes a whole message visible and a rename takes it. A file that is no message is moved
aside, and its reader goes on.
"""

import json
import logging
import math
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem

from hone.queues.arrivals import Arrivals

DEAD = ".dead"
"""Suffix of a queue of dead letters: `rollouts.dead` holds the dead letters of `rollouts`."""

LONGEST_WAIT_S = 0.25
LONGEST_PAUSE_S = 0.1
"""Longest pause between two looks at messages that no worker had time for. The first pause is the polling interval."""

_log = logging.getLogger(__name__)


class Channel(filesystem.Channel):  # type: ignore[misc]
    """Messages are files `{time}_{unique}.{queue}.msg` of the transport option `data_folder_in`."""

    def _put(self, queue: str, payload: dict[str, Any], **_: Any) -> None:
        folder = Path(self.data_folder_in)
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}.{queue}.msg"
        hidden = folder / f".{name}"
        hidden.write_text(json.dumps(payload))
        hidden.rename(folder / name)

    def _get(self, queue: str) -> dict[str, Any]:
        for path in self._files(queue):
            message = self._take(path, queue)
            if message is not None:
                return message
        raise Empty

    def _purge(self, queue: str) -> int:
        return sum(1 for path in self._files(queue) if _removed(path))

    def _size(self, queue: str) -> int:
        return len(list(self._files(queue)))

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Put a message back into its queue, or move it to the queue's dead letters, as RabbitMQ does."""
        if not requeue:
            message = self.qos.get(delivery_tag)
            self._put(f"{message.delivery_info['routing_key']}{DEAD}", message.serializable())
        super().basic_reject(delivery_tag, requeue=requeue)

    def _files(self, queue: str) -> Iterator[Path]:
        folder, ending = self.data_folder_in, f".{queue}.msg"
        names = (name for name in os.listdir(folder) if name.endswith(ending) and name[0] != ".")
        return (Path(folder, name) for name in sorted(names) if name.partition(".")[2] == ending[1:])

    def _take(self, path: Path, queue: str) -> dict[str, Any] | None:
        """Return the message in `path`, or None if another reader was first or the file is no message."""
        mine = path.with_name(f".{path.name}")
        try:
            path.rename(mine)
        except FileNotFoundError:
            return None
        try:
            message = _message(mine.read_bytes(), queue)
            self.Message(message, channel=self)
            return message
        except (ValueError, TypeError, AttributeError, KeyError) as error:  # kombu's, if it is no message
            _log.warning("moved a file aside that is no message: %s", error, extra={"fields": {"file": path.name}})
            mine.rename(path.with_name(f"{path.stem.rpartition('.')[0]}.{queue}{DEAD}.msg"))
            return None
        finally:
            mine.unlink(missing_ok=True)


class Transport(filesystem.Transport):  # type: ignore[misc]
    """Used through kombu as `Connection("filesystem://", transport=Transport)`."""

    Channel = Channel
    _arrivals: Arrivals | None = None
    _pause_s: float  # until the next look at messages that no worker had time for

    def drain_events(self, _: Any, timeout: float | None = None) -> None:
        """Deliver one message. Raises TimeoutError if none came.

        It gives up before Celery's two seconds are over, so that a worker can stop soon after a signal.
        """
        until = math.inf if timeout is None else time.monotonic() + min(timeout, LONGEST_WAIT_S)
        if self._arrivals is None:
            self._arrivals, self._pause_s = Arrivals(self._folder, self.polling_interval), self.polling_interval
        while True:
            try:
                self.cycle.get(self._deliver)
                self._pause_s = self.polling_interval
                return
            except Empty:
                self._await(self._arrivals, until - time.monotonic())

    def close_connection(self, connection: Any) -> None:
        if self._arrivals is not None:
            self._arrivals.close()
            self._arrivals = None
        super().close_connection(connection)

    def _await(self, arrivals: Arrivals, left_s: float) -> None:
        """Wait for another message, or for the next look at the messages that no worker had time for."""
        if left_s <= 0:
            raise TimeoutError
        waiting = any(_waits(name) for name in os.listdir(self._folder))
        arrivals.wait(min(left_s, self._pause_s if waiting else LONGEST_WAIT_S))
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S) if waiting else self.polling_interval

    @property
    def _folder(self) -> Path:
        return Path(self.client.transport_options["data_folder_in"])


def _waits(name: str) -> bool:
    """Return whether a file is a message that a reader may take."""
    return name.endswith(".msg") and not name.startswith(".") and not name.endswith(f"{DEAD}.msg")


def _message(data: bytes, queue: str) -> dict[str, Any]:
    message = json.loads(data)
    if not isinstance(message, dict) or not isinstance(message.get("properties"), dict):
        raise ValueError(f"found {data[:80]!r}, expected an object with properties")
    own = {"delivery_tag": uuid.uuid4().hex, "delivery_info": {"exchange": "", "routing_key": queue}}
    return {**message, "properties": {**message["properties"], **own}}


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
