"""The refusals of the gateway, and their rendering as problem documents (RFC 9457, application/problem+json).

A refusal's docstring is its default message, and its title names the problem type.
"""

import inspect
import logging
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi.exceptions import RequestValidationError
from psycopg import OperationalError
from psycopg.errors import DiskFull
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.process import disks
from hone.spec.problems import Invalid, Problem, from_finding, joined
from hone.store.objects import StoreAway, StoreFull
from hone.store.objects.contract import FULL, no_space
from services.gateway.middleware import openai_errors

MEDIA_TYPE = "application/problem+json"


class WrongField(BaseModel):
    """A field of a request that is wrong."""

    field: str = Field(description="Its path, such as `optimizer.lr`.")
    found: str
    expected: str


class ProblemDocument(BaseModel):
    """A refusal. Some have further fields, which their operations tell."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="urn:hone:problem: and the title.")
    title: str
    status: int
    detail: str
    instance: str = Field(description="Path of the request.")
    request_id: str | None = Field(description="Under which the gateway's log tells more.")
    errors: list[WrongField]


_TITLES = {404: "Not found", 500: "Internal error"}
"""Titles of the refusals that the framework itself raises."""

NO_JSON = Problem("header.Content-Type", "a type that is not JSON", "application/json")
"""The problem of a body that nothing calls JSON."""

MOST_PROBLEMS = 100
"""Problems that an answer names."""

_log = logging.getLogger("hone.gateway")


class Refusal(HTTPException):
    """The request cannot be served."""

    status, title = 400, "Bad request"
    code: str | None = None
    """OpenAI's word for it, on the paths that their clients use."""

    def __init__(
        self, detail: str = "", problems: Iterable[Problem] = (), headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(self.status, detail or inspect.getdoc(self) or "", headers)
        self.problems, self.extra = list(problems), dict(extra or {})


class Unauthenticated(Refusal):
    """No valid API key. `hone keys create` makes one; send it as `Authorization: Bearer` or as `X-API-Key`."""

    status, title = 401, "Unauthenticated"

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        super().__init__(problems=problems, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(Refusal):
    """The key may not do this."""

    status, title = 403, "Forbidden"


class NotFound(Refusal):
    """Nothing has this name."""

    status, title = 404, "Not found"


class MethodNotAllowed(Refusal):
    """The path does not have this method."""

    status, title = 405, "Method not allowed"

    def __init__(self, problems: Iterable[Problem], headers: Mapping[str, str]) -> None:
        super().__init__(problems=problems, headers=headers)


class TooSlow(Refusal):
    """The body did not arrive. Send the request again."""

    status, title = 408, "Request timeout"


class Conflict(Refusal):
    """The request does not fit the present state."""

    status, title = 409, "Conflict"


class BodyTooLarge(Refusal):
    """The body is larger than this gateway accepts."""

    status, title = 413, "Body too large"


class UploadTooLarge(Refusal):
    """The upload is larger than this gateway accepts."""

    status, title = 413, "Upload too large"


class TooMany(Refusal):
    """The tenant has too many requests open. The same request may succeed later."""

    status, title = 429, "Too many requests"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


class NoRoom(Refusal):
    """The object store is full. Make room, or give it a larger disk or quota; then the same request succeeds."""

    status, title = 507, "Store full"


class Unusable(Refusal):
    """The content of the request is wrong. `errors` names each field with the value found and the value expected."""

    status, title = 422, "Unusable"


class Away(Refusal):
    """A service that the gateway needs does not answer. The same request may succeed later."""

    status, title = 503, "Away"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


class NotGraded(Refusal):
    """The system failed to grade the answer, so there is no reward. The same request may succeed later."""

    status, title = 503, "Not graded"

    def __init__(self, detail: str, grade: Mapping[str, Any]) -> None:
        super().__init__(detail, headers={"Retry-After": "1"}, extra={"grade": dict(grade)})


def unknown_run(run_id: str) -> NotFound:
    """Return the refusal of a run id that this tenant has no run for."""
    return NotFound(f"There is no run {run_id}.")


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
            if refusal(error, scope).status_code >= 500:
                fields = {"request_id": request.state.request_id, "path": request.url.path}
                _log.exception("%s: %s", type(error).__name__, error, extra={"fields": fields})
            return await _response(request, error)(scope, receive, send)


async def answer(request: Request, error: Exception) -> Response:
    """Render an exception that FastAPI itself would answer; FastAPI expects a coroutine."""
    return _response(request, error)


def refusal(error: Exception, scope: Scope | None = None) -> HTTPException:
    """Translate an exception into the refusal that the client receives. `scope` is the request's."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, OperationalError) and not isinstance(error, DiskFull):
        return Away(f"The database does not answer{_shortage(scope or {})}. The same request may succeed later.")
    for kind, translate in _TRANSLATIONS.items():
        if isinstance(error, kind):
            return translate(error)
    return _unexpected()


def _shortage(scope: Scope) -> str:
    """Return the words about a full disk of this machine, "" if there is none."""
    settings = getattr(getattr(scope.get("app"), "state", None), "settings", None)
    full = [] if settings is None else [disk for disk in disks.look(disks.written(settings)) if disk.full]
    return f": {no_space(full[0].directory)}" if full else ""


def _unexpected() -> HTTPException:
    return HTTPException(500, "An unexpected error occurred. The gateway's log describes it under this request id.")


def _of_system(error: Any) -> HTTPException:
    if error.errno not in FULL:
        return _unexpected()
    return NoRoom(f"The gateway's disk is full, through which bodies pass: {no_space(Path(tempfile.gettempdir()))}.")


_TRANSLATIONS: Mapping[type[Exception], Callable[[Any], HTTPException]] = {
    RequestValidationError: lambda error: Unusable(problems=joined(
        list(map(_request_problem, error.errors()[:MOST_PROBLEMS])))),
    Invalid: lambda error: Unusable(problems=error.problems),
    ClientDisconnect: lambda _: HTTPException(400, "The client went away before its body had arrived."),
    DiskFull: lambda _: NoRoom("The database's disk is full. Make room; then the same request succeeds."),
    StoreFull: lambda full: NoRoom(f"The object store is full: {full}. Make room; then the same request succeeds."),
    StoreAway: lambda _: Away("The object store does not answer. The same request may succeed later."),
    OSError: _of_system,
}
"""Refusals by kind of exception; a kind stands before those that it belongs to."""


def _request_problem(finding: Mapping[str, Any]) -> Problem:
    """Translate a finding of FastAPI's validation. A field outside the body begins with its source: `query.limit`."""
    source, *location = finding["loc"]
    if finding["type"] == "json_invalid":
        found = f"text that is not JSON ({finding['ctx']['error']} at character {location[0]})"
        return Problem("body", found, "JSON")
    if source == "body" and isinstance(finding["input"], bytes):
        return NO_JSON
    inner = {**finding, "loc": tuple(location)}
    return from_finding(inner) if source == "body" else from_finding(inner, root=str(source))


def _without_secrets(refused: HTTPException, path: str) -> HTTPException:
    """Return a refusal whose problems do not repeat what was sent as a secret."""
    if isinstance(refused, Unusable) and path.startswith("/v1/secrets/"):
        return Unusable(problems=[replace(one, found="a text that is not shown") if one.field == "value" and
                                  one.found != "nothing" else one for one in refused.problems])
    return refused


def _response(request: Request, error: Exception) -> JSONResponse:
    refused = _without_secrets(refusal(error, request.scope), request.url.path)
    title, problems, extra = _TITLES.get(refused.status_code, "Bad request"), list[Problem](), dict[str, Any]()
    status, code = refused.status_code, None
    if isinstance(refused, Refusal):
        title, problems, extra, code = refused.title, refused.problems, refused.extra, refused.code
    if openai_errors.spoken(request.url.path):
        status = openai_errors.status(request.url.path, status)
        message = _detail(str(refused.detail), problems)
        extra = {**extra, "error": openai_errors.error(status, message, problems, code)}
    body = {
        "type": f"urn:hone:problem:{title.lower().replace(' ', '-')}", "title": title, "status": status,
        "detail": _detail(str(refused.detail), problems), "instance": request.url.path,
        "request_id": getattr(request.state, "request_id", None),
        "errors": [problem.as_json() for problem in problems[:MOST_PROBLEMS]], **extra,
    }
    return JSONResponse(body, status, dict(refused.headers or {}), MEDIA_TYPE)


def _detail(message: str, problems: list[Problem]) -> str:
    return f"{message} {'; '.join(map(str, problems[:3]))}" if problems else message
