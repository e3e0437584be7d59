"""Server-sent events of a run, continued across broken connections."""

from collections.abc import Iterable, Iterator

import httpx
from pydantic import ValidationError

from hone.client import errors
from hone.client.resources import Event
from hone.client.transport import ATTEMPTS, Transport

_SILENCE_S = 60.0
"""Seconds without a byte after which a connection is taken for dead; the gateway says something every 15."""


def follow(transport: Transport, path: str, after: int = 0) -> Iterator[Event]:
    """Yield a run's events after id `after` until it has ended, across restarts of the gateway.

    Raises HoneError; Away when the gateway stays unreachable.
    """
    failures = 0
    while True:
        try:
            for event in _connection(transport, path, after):
                failures = 0
                if event is not None:
                    after = max(after, event.id)
                    yield event
            return
        except httpx.TransportError as error:
            failures += 1
            if failures == ATTEMPTS:
                raise errors.unreachable(transport.base_url, error) from error
        except errors.Away:
            failures += 1
            if failures == ATTEMPTS:
                raise
        transport.wait(failures)


def _connection(transport: Transport, path: str, after: int) -> Iterator[Event | None]:
    """Yield None once the gateway has answered, then the events of one connection.

    Raises httpx.TransportError when it closes before the run's end.
    """
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    with transport.streamed(path, headers, _SILENCE_S) as response:
        yield None
        for kind, data in parse(response.iter_lines()):
            if kind == "end":
                return
            yield _event(response, data)
    raise httpx.RemoteProtocolError("the stream closed before the run's end")


def _event(response: httpx.Response, data: str) -> Event:
    try:
        return Event.model_validate_json(data)
    except ValidationError as error:
        raise errors.unreadable(response, data, "Event") from error


def parse(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (event, data) of each server-sent event; comments and ids are passed over."""
    kind, data = "message", list[str]()
    for line in lines:
        field, _, value = line.partition(":")
        if field == "event":
            kind = value.removeprefix(" ")
        elif field == "data":
            data.append(value.removeprefix(" "))
        elif not line:
            if data:
                yield kind, "\n".join(data)
            kind, data = "message", []
