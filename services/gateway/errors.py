"""Everything the gateway refuses, one flat family; a docstring is the message. Rendered as RFC 9457 problems."""

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from psycopg import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hone.spec.problems import Invalid, Problem, from_finding
from hone.store.objects import StoreAway

MEDIA_TYPE = "application/problem+json"


class Refusal(HTTPException):
    """The request cannot be served."""

    status = 400

    def __init__(
        self, detail: str = "", problems: Iterable[Problem] = (), headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(self.status, detail or inspect.getdoc(self) or "", headers)
        self.problems, self.extra = list(problems), dict(extra or {})


class Unauthenticated(Refusal):
    """No valid API key. `hone keys create` makes one; send it as `Authorization: Bearer` or as `X-API-Key`."""

    status = 401

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        super().__init__(problems=problems, headers={"WWW-Authenticate": "Bearer"})


class NotFound(Refusal):
    """There is nothing of this name."""

    status = 404


class Conflict(Refusal):
    """The request does not fit the present state."""

    status = 409


class BodyTooLarge(Refusal):
    """The body is larger than this gateway reads."""

    status = 413


class Unusable(Refusal):
    """The request's content is wrong; `errors` names each field, what was found and what was expected."""

    status = 422


class Away(Refusal):
    """A service that the gateway needs does not answer; the same request may succeed later."""

    status = 503

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


_TITLES = {400: "Bad request", 404: "Not found", 405: "Method not allowed", 500: "Internal error"}


def refusal(error: Exception) -> HTTPException:
    """Translate whatever was raised into the refusal that the client sees."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, RequestValidationError):
        return Unusable(problems=[_request_problem(finding) for finding in error.errors()])
    if isinstance(error, Invalid):
        return Unusable(problems=error.problems)
    if isinstance(error, OperationalError):
        return Away("The database does not answer; the same request may succeed later.")
    if isinstance(error, StoreAway):
        return Away("The object store does not answer; the same request may succeed later.")
    return HTTPException(500, "Something went wrong here; the log names it by the request id.")


def _request_problem(finding: Mapping[str, Any]) -> Problem:
    source, *place = finding["loc"]
    if finding["type"] == "json_invalid":
        return Problem("body", f"text that is no JSON ({finding['ctx']['error']} at character {place[0]})", "JSON")
    inner = {**finding, "loc": tuple(place)}
    return from_finding(inner) if source == "body" else from_finding(inner, root=str(source))


def respond(request: Request, error: Exception) -> JSONResponse:
    """Render an error as application/problem+json."""
    refused = refusal(error)
    title = _title(refused)
    body = {
        "type": f"urn:hone:problem:{title.lower().replace(' ', '-')}", "title": title, "status": refused.status_code,
        "detail": _detail(refused), "instance": request.url.path,
        "request_id": getattr(request.state, "request_id", None),
        "errors": [problem.as_json() for problem in getattr(refused, "problems", [])],
        **getattr(refused, "extra", {}),
    }
    return JSONResponse(body, refused.status_code, dict(refused.headers or {}), MEDIA_TYPE)


async def answer(request: Request, error: Exception) -> Response:
    """Render an error where FastAPI asks for a coroutine."""
    return respond(request, error)


def _title(refused: HTTPException) -> str:
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(refused).__name__).capitalize()
    return _TITLES.get(refused.status_code, words)


def _detail(refused: HTTPException) -> str:
    problems = getattr(refused, "problems", [])
    return f"{refused.detail} {'; '.join(map(str, problems[:3]))}" if problems else str(refused.detail)
