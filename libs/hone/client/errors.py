"""The errors of the SDK. An error about bad input names every field with the value found and the value expected."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx

from hone.spec.problems import Problem


class HoneError(Exception):
    """The gateway refused the request."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.status = _number(document.get("status"))
        self.title, self.detail = str(document.get("title", "")), str(document.get("detail", ""))
        self.request_id: str | None = document.get("request_id")
        self.problems = _problems(document.get("errors"))
        self.document = dict(document)
        super().__init__(self.detail or self.title)


class Unauthenticated(HoneError):
    """The API key is missing, unknown or revoked."""


class Forbidden(HoneError):
    """The key may not do this; the message names the scope that is needed."""


class NotFound(HoneError):
    """Nothing has this name."""


class Conflict(HoneError):
    """The request does not fit the present state."""


class TooLarge(HoneError):
    """The body is larger than the gateway accepts."""


class Full(HoneError):
    """The object store, or the gateway's disk, has no room left."""


class Refused(HoneError):
    """The content of the request is wrong; `problems` names the fields."""


class Away(HoneError):
    """The gateway or a service behind it did not answer, after all retries."""


_BY_STATUS = {400: Refused, 401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 413: TooLarge,
              422: Refused, 502: Away, 507: Full, 503: Away, 504: Away}


def from_response(response: httpx.Response) -> HoneError:
    """Return the error that a response describes. The body of the response must have been read."""
    return _BY_STATUS.get(response.status_code, HoneError)(_document(response))


def unreadable(response: httpx.Response, text: str, expected: str) -> HoneError:
    """Return the error of a successful response whose content cannot be read as `expected`; `text` is that content."""
    return HoneError({
        "status": response.status_code, "title": "Unreadable answer",
        "request_id": response.headers.get("x-request-id"),
        "detail": f"{response.request.url}: found {text[:80]!r}, expected {expected}"})


def _document(response: httpx.Response) -> dict[str, Any]:
    """Return the problem document of a response. For an answer of another server, such as a proxy, make one."""
    if response.headers.get("content-type", "").startswith("application/problem+json"):
        with suppress(ValueError):
            document = response.json()
            if isinstance(document, dict):
                return {"status": response.status_code, **document}
    return {"status": response.status_code, "title": response.reason_phrase, "detail": response.text[:500]}


def _number(status: Any) -> int:
    return status if isinstance(status, int) else 0


def _problems(listed: Any) -> list[Problem]:
    """Return the problems in `errors`. Entries of another form, from other servers, are left out."""
    names = ("field", "found", "expected")
    listed = listed if isinstance(listed, list) else []
    known = [one for one in listed if isinstance(one, dict) and one.keys() >= {*names}]
    return [Problem(*(str(one[name]) for name in names)) for one in known]


def unreachable(url: str, error: httpx.TransportError) -> Away:
    """Return the error of a gateway that cannot be reached."""
    return Away({"title": "Unreachable", "detail": f"{url} does not answer: {error or type(error).__name__}"})
