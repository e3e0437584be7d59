"""Every exception becomes a problem document (RFC 9457, application/problem+json)."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from psycopg import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.spec.problems import Invalid, Problem, from_finding
from hone.store.objects import StoreAway
from services.gateway.errors import Away, Refusal, Unusable

MEDIA_TYPE = "application/problem+json"

_TITLES = {404: "Not found", 405: "Method not allowed", 500: "Internal error"}
"""Titles of the refusals that the framework itself raises."""

_log = logging.getLogger("hone.gateway")


class ProblemResponses:
    """Answers an exception with a problem document and logs the traceback of an unexpected one.

    An exception after the start of the response cannot be answered any more and is raised again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            return await self._app(scope, receive, watched)
        except Exception as error:
            if begun:
                raise
            request = Request(scope)
            if refusal(error).status_code >= 500:
                fields = {"request_id": request.state.request_id, "path": request.url.path}
                _log.exception("%s: %s", type(error).__name__, error, extra={"fields": fields})
            return await _response(request, error)(scope, receive, send)


async def answer(request: Request, error: Exception) -> Response:
    """Render an exception that FastAPI itself would answer; FastAPI expects a coroutine."""
    return _response(request, error)


def refusal(error: Exception) -> HTTPException:
    """Translate an exception into the refusal that the client receives."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, RequestValidationError):
        return Unusable(problems=[_request_problem(finding) for finding in error.errors()])
    if isinstance(error, Invalid):
        return Unusable(problems=error.problems)
    if isinstance(error, OperationalError):
        return Away("The database does not answer. The same request may succeed later.")
    if isinstance(error, StoreAway):
        return Away("The object store does not answer. The same request may succeed later.")
    return HTTPException(500, "An unexpected error occurred. The gateway's log describes it under this request id.")


def _request_problem(finding: Mapping[str, Any]) -> Problem:
    """Translate a finding of FastAPI's validation. A field outside the body begins with its source: `query.limit`."""
    source, *location = finding["loc"]
    if finding["type"] == "json_invalid":
        found = f"text that is not JSON ({finding['ctx']['error']} at character {location[0]})"
        return Problem("body", found, "JSON")
    inner = {**finding, "loc": tuple(location)}
    return from_finding(inner) if source == "body" else from_finding(inner, root=str(source))


def _response(request: Request, error: Exception) -> JSONResponse:
    refused = refusal(error)
    title, problems, extra = _TITLES.get(refused.status_code, "Bad request"), list[Problem](), dict[str, Any]()
    if isinstance(refused, Refusal):
        title, problems, extra = refused.title, refused.problems, refused.extra
    body = {
        "type": f"urn:hone:problem:{title.lower().replace(' ', '-')}", "title": title, "status": refused.status_code,
        "detail": _detail(str(refused.detail), problems), "instance": request.url.path,
        "request_id": getattr(request.state, "request_id", None),
        "errors": [problem.as_json() for problem in problems], **extra,
    }
    return JSONResponse(body, refused.status_code, dict(refused.headers or {}), MEDIA_TYPE)


def _detail(message: str, problems: list[Problem]) -> str:
    return f"{message} {'; '.join(map(str, problems[:3]))}" if problems else message
