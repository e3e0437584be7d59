"""HTTP of the SDK: paths, requests with retries, errors as exceptions, and server-sent events."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from hone.client import errors
from hone.client.resources import Event
from hone.spec.problems import Invalid, unstorable

ATTEMPTS = 6
"""Attempts of a request before its failure is raised, unless the client sets another number."""

_SILENCE_S = 60.0
"""Seconds without a byte after which a connection counts as broken. The gateway sends something every 15."""

_PIECE_BYTES = 2**20
_RETRIED = {429, 502, 503, 504}
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 5.0


def rest_path(*segments: object) -> str:
    """Return the path /v1/… of these segments. Each is quoted whole, so a name cannot lead to another path.

    Raises NotFound for a segment that is empty, "." or "..", because nothing has such a name.
    """
    names = [str(segment) for segment in segments]
    for name in names:
        if name in ("", ".", ".."):
            raise errors.NotFound({
                "status": 404, "title": "Not found", "detail": f"Nothing has the name {name!r}."})
    return "/".join(["/v1", *(quote(name, safe="") for name in names)])


class HttpTransport:
    """Requests to one gateway. They are repeated, which is safe: reads, desired states, posts with a new key each."""

    def __init__(
        self, base_url: str, key: str, timeout_s: float, transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep, attempts: int = ATTEMPTS,
    ) -> None:
        self.base_url, self._sleep, self._attempts = base_url, sleep, attempts
        self._http = httpx.Client(
            base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=timeout_s, transport=transport)

    def request(self, method: str, path: str, attempts: int | None = None, **content: Any) -> httpx.Response:
        """Return the response of a request that succeeded; `content` is httpx's, `files` of bytes included.

        `attempts` is 1 for a request that must not be repeated. Raises hone.client.errors.HoneError, and
        hone.spec.problems.Invalid, a ValueError, for values that JSON cannot hold.
        """
        attempts = attempts or self._attempts
        for attempt in range(1, attempts + 1):
            try:
                response = self._http.request(method, path, **content)
            except httpx.TransportError as error:
                if attempt == attempts:
                    raise errors.unreachable(self.base_url, error) from error
                self.wait(attempt)
                continue
            except ValueError:  # httpx writes no NaN, and no half of a surrogate pair
                if problems := unstorable(content.get("json")):
                    raise Invalid(problems) from None
                raise
            if response.status_code not in _RETRIED or attempt == attempts:
                break
            self.wait(attempt, response.headers.get("retry-after", ""))
        if not response.is_success:  # a redirect is an error too: the gateway sends none
            raise errors.from_response(response)
        return response

    @contextmanager
    def streamed(
        self, path: str, headers: dict[str, str], method: str = "GET", **content: Any,
    ) -> Iterator[httpx.Response]:
        """Open a response that is read in pieces.

        Raises HoneError, and httpx.TransportError after _SILENCE_S without a byte.
        """
        with self._http.stream(method, path, headers=headers, timeout=_SILENCE_S, **content) as response:
            if not response.is_success:
                response.read()
                raise errors.from_response(response)
            yield response

    @contextmanager
    def pieces(self, path: str) -> Iterator[Iterator[bytes]]:
        """Open a body and read it in pieces. Raises HoneError, also when the connection breaks."""
        try:
            with self.streamed(path, {}) as response:
                yield response.iter_bytes(_PIECE_BYTES)
        except httpx.TransportError as error:
            raise errors.unreachable(self.base_url, error) from error

    def wait(self, failures: int, asked: str = "") -> None:
        """Wait before the next attempt: as long as the gateway asks for, or twice as long as before."""
        wait_s = float(asked) if asked.isdecimal() else _FIRST_WAIT_S * 2 ** (failures - 1)
        self._sleep(min(wait_s, _LONGEST_WAIT_S))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def follow(transport: HttpTransport, path: str, after: int = 0) -> Iterator[Event]:
    """Yield the events of a run after id `after` until the run has ended. A broken connection is made again.

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


def _connection(transport: HttpTransport, path: str, after: int) -> Iterator[Event | None]:
    """Yield None once the gateway has answered, then the events of one connection.

    Raises httpx.TransportError when the connection closes before the run has ended.
    """
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    with transport.streamed(path, headers) as response:
        yield None
        for kind, data in parse_events(response.iter_lines()):
            if kind == "end":
                return
            yield _event(response, data)
    raise httpx.RemoteProtocolError("the stream closed before the run's end")


def _event(response: httpx.Response, data: str) -> Event:
    try:
        return Event.model_validate_json(data)
    except ValidationError as error:
        raise errors.unreadable(response, data, "Event") from error


def parse_events(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (event, data) of each server-sent event; comments and ids are left out."""
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
