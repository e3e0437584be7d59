"""A verify server over HTTP: NeMo Gym's `/verify`, `/seed_session` and `/reverify_mode` in front of a rubric.

Where the rubric fails the answer is 500 with the reason, and no reward.
"""

import hmac
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from hone.spec import strict_json
from hone.spec.problems import Invalid, Problem
from hone.verifiers.contract import Unscored, Verifier, submitted_of

_OPEN = "/healthz"
_log = logging.getLogger(__name__)


def application(verifier: Verifier, key: str = "") -> FastAPI:
    """Return the application. With a key each request has to show it as a bearer."""
    app = FastAPI(title="Hone verifier", docs_url=None, redoc_url=None)

    @app.middleware("http")
    async def admitted(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        shown = request.headers.get("authorization", "")
        if key and request.url.path != _OPEN and not hmac.compare_digest(shown.encode(), f"Bearer {key}".encode()):
            return _refusal(401, "the key is missing or another one")
        return await go_on(request)

    @app.post("/verify")
    async def verify(request: Request) -> Response:
        return await _verified(verifier, await request.body())

    @app.post("/seed_session")
    async def seed_session(request: Request) -> Response:
        return _seeded(await request.body())

    @app.get("/reverify_mode")
    async def reverify_mode() -> str:
        return "stateless"

    @app.get(_OPEN)
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    return app


def serve(verifier: Verifier, host: str, port: int, key: str = "") -> None:
    """Serve until SIGINT or SIGTERM.

    Rubrics run in the main thread, one after the other where they wait for nothing: some work there alone (math-verify
    sets an alarm).
    """
    uvicorn.run(application(verifier, key), host=host, port=port, log_level="warning")


def _seeded(content: bytes) -> Response:
    """Begin a session, of which nothing is kept."""
    try:
        given = _read(content) if content else {}
    except Invalid as error:
        return _refusal(422, str(error))
    name = given.get("resources_session_id") if isinstance(given, dict) else None
    return JSONResponse({} if name is None else {"resources_session_id": name})


async def _verified(verifier: Verifier, content: bytes) -> Response:
    try:
        submitted = submitted_of(_read(content))
        scores = (await verifier.scores(submitted)).checked()
    except Invalid as error:
        return _refusal(422, str(error), errors=[problem.as_json() for problem in error.problems])
    except Unscored as error:
        return _refusal(500, str(error))
    except Exception as error:
        _log.exception("the rubric failed")
        return _refusal(500, f"{type(error).__name__}: {error}")
    return JSONResponse({**scores.components, **submitted.whole, "reward": scores.reward,
                         "reward_components": dict(scores.components)})


def _read(content: bytes) -> Any:
    try:
        return strict_json.read(content)
    except ValueError as error:
        raise Invalid([Problem("body", content[:80].decode(errors="replace"), f"JSON ({error})")]) from None


def _refusal(status: int, detail: str, **more: Any) -> JSONResponse:
    return JSONResponse({"detail": detail[:2000], **more}, status)
