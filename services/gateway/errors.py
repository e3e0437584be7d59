"""The refusals of the gateway. A class's docstring is the default message, its title names the problem type."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.exceptions import HTTPException

from hone.spec.problems import Problem


class Refusal(HTTPException):
    """The request cannot be served."""

    status, title = 400, "Bad request"

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


class NotFound(Refusal):
    """Nothing has this name."""

    status, title = 404, "Not found"


class Conflict(Refusal):
    """The request does not fit the present state."""

    status, title = 409, "Conflict"


class BodyTooLarge(Refusal):
    """The body is larger than this gateway accepts."""

    status, title = 413, "Body too large"


class Unusable(Refusal):
    """The content of the request is wrong. `errors` names each field with the value found and the value expected."""

    status, title = 422, "Unusable"


class Away(Refusal):
    """A service that the gateway needs does not answer. The same request may succeed later."""

    status, title = 503, "Away"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


def unknown_run(run_id: str) -> NotFound:
    """Return the refusal of a run id that this tenant has no run for."""
    return NotFound(f"There is no run {run_id}.")
