"""What a call can end in, one flat family; bad input carries every field with what was found and what was expected."""

from collections.abc import Mapping
from typing import Any

import httpx

from hone.spec.problems import Problem


class HoneError(Exception):
    """The gateway refused the request."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.status = int(document.get("status", 0))
        self.title, self.detail = str(document.get("title", "")), str(document.get("detail", ""))
        self.request_id: str | None = document.get("request_id")
        self.problems = [Problem(one["field"], one["found"], one["expected"]) for one in document.get("errors", [])]
        self.document = dict(document)
        super().__init__(self.detail or self.title)


class Unauthenticated(HoneError):
    """The API key is missing, unknown or revoked."""


class NotFound(HoneError):
    """There is nothing of this name."""


class Conflict(HoneError):
    """The request does not fit the present state."""


class TooLarge(HoneError):
    """The body is larger than the gateway reads."""


class Refused(HoneError):
    """The request's content is wrong: see `problems`."""


class Away(HoneError):
    """The gateway, or a service behind it, did not answer, retries included."""


_BY_STATUS = {400: Refused, 401: Unauthenticated, 404: NotFound, 409: Conflict, 413: TooLarge, 422: Refused,
              502: Away, 503: Away, 504: Away}


def from_response(response: httpx.Response) -> HoneError:
    """Return the error that a response describes; its body has been read."""
    document: Any = None
    if response.headers.get("content-type", "").startswith("application/problem+json"):
        document = response.json()
    if not isinstance(document, dict):
        document = {"status": response.status_code, "title": response.reason_phrase, "detail": response.text[:500]}
    return _BY_STATUS.get(response.status_code, HoneError)(document)


def unreachable(url: str, error: httpx.TransportError) -> Away:
    """Return the error of a gateway that cannot be reached."""
    return Away({"title": "Unreachable", "detail": f"{url} does not answer: {error or type(error).__name__}"})
