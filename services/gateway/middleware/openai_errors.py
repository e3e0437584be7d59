"""Refusals as OpenAI's clients read them: on the paths that they use, a problem document has a member `error` as well.

    {"error": {"message": "…", "type": "invalid_request_error", "param": "model", "code": "model_not_found"}}
"""

from collections.abc import Sequence
from typing import Any

from hone.spec.problems import Problem

_ASKING = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/pooling")
_GRADERS = "/v1/fine_tuning/alpha/graders/"
_MODELS = "/v1/models"
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 413: "request_too_large", 429: "rate_limit_exceeded"}


def spoken(path: str) -> bool:
    """Return whether OpenAI's clients use a path."""
    return path in _ASKING or path.startswith(_GRADERS) or path == _MODELS or path.startswith(f"{_MODELS}/")


def status(path: str, found: int) -> int:
    """Return the status of a refusal: what is wrong in a request to a model is 400 there, and 422 elsewhere."""
    return 400 if found == 422 and (path in _ASKING or path.startswith(_GRADERS)) else found


def error(status: int, message: str, problems: Sequence[Problem] = (), code: str | None = None) -> dict[str, Any]:
    """Return the member `error`. `param` is the first field that is wrong."""
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    return {"message": message, "type": kind, "param": problems[0].field if problems else None,
            "code": code or _CODES.get(status)}
