"""HTTP as the SDK does it: one key, errors as exceptions, what is safe to repeat is repeated."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from hone.client import errors

ATTEMPTS = 6
"""Times a request is made before its failure is the caller's, unless the client says otherwise."""

_SILENCE_S, _PIECE_BYTES = 60.0, 2**20
_RETRIED = {429, 502, 503, 504}
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 5.0


class Transport:
    """Requests to one gateway. All made here are safe to repeat: reads, wishes, and posts with a key of their own."""

    def __init__(
        self, base_url: str, key: str, timeout_s: float, transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep, attempts: int = ATTEMPTS,
    ) -> None:
        self.base_url, self._sleep, self._attempts = base_url, sleep, attempts
        self._http = httpx.Client(
            base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=timeout_s, transport=transport)

    def request(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Return the response of a request that succeeded; `content` is httpx's, `files` of bytes included.

        Raises hone.client.errors.HoneError.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                response = self._http.request(method, path, **content)
            except httpx.TransportError as error:
                if attempt == self._attempts:
                    raise errors.unreachable(self.base_url, error) from error
                self.wait(attempt)
                continue
            if response.status_code not in _RETRIED or attempt == self._attempts:
                break
            self.wait(attempt, response.headers.get("retry-after", ""))
        if not response.is_success:  # nor is it sent elsewhere: the gateway sends nobody on
            raise errors.from_response(response)
        return response

    @contextmanager
    def streamed(self, path: str, headers: dict[str, str], silence_s: float) -> Iterator[httpx.Response]:
        """Open a response that goes on; `silence_s` without a byte break it off.

        Raises HoneError, and httpx.TransportError.
        """
        with self._http.stream("GET", path, headers=headers, timeout=silence_s) as response:
            if not response.is_success:
                response.read()
                raise errors.from_response(response)
            yield response

    @contextmanager
    def pieces(self, path: str) -> Iterator[Iterator[bytes]]:
        """Open a body that is not held whole. Raises HoneError, also where it breaks off."""
        try:
            with self.streamed(path, {}, _SILENCE_S) as response:
                yield response.iter_bytes(_PIECE_BYTES)
        except httpx.TransportError as error:
            raise errors.unreachable(self.base_url, error) from error

    def wait(self, failures: int, asked: str = "") -> None:
        """Wait before the next attempt: as long as the gateway asked, or twice as long each time."""
        wait_s = float(asked) if asked.isdecimal() else _FIRST_WAIT_S * 2 ** (failures - 1)
        self._sleep(min(wait_s, _LONGEST_WAIT_S))

    def close(self) -> None:
        self._http.close()
