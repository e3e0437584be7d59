"""The gateway in one picture: layers from the outside in, then the endpoints."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.store.objects import Objects
from services.gateway import (
    catalog,
    datasets,
    documentation,
    engines,
    events,
    exports,
    health,
    metrics,
    models,
    runs,
    tokens,
    trajectories,
    usage,
)
from services.gateway.authentication import Authentication
from services.gateway.bodies import BodyLimit, Linger
from services.gateway.errors import answer
from services.gateway.guard import Guard
from services.gateway.observation import Observation
from services.gateway.request_ids import RequestIds

OPEN_PATHS = frozenset({"/", "/docs", "/openapi.json", "/favicon.ico", "/healthz"})
_DESCRIBED = [Security(HTTPBearer(auto_error=False)), Security(APIKeyHeader(name="X-API-Key", auto_error=False))]


def create(settings: Settings, database: AsyncDatabase, objects: Objects) -> FastAPI:
    """Return the application; the database is opened and closed with it."""
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await database.open()
        yield
        await database.close()

    app = FastAPI(
        title="Hone", version=version("hone-rl"), docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Reinforcement learning as a service: models, datasets, runs and what came of them.",
        dependencies=_DESCRIBED,
        middleware=[
            Middleware(Observation),
            Middleware(RequestIds),
            Middleware(Linger),
            Middleware(Guard),
            Middleware(BodyLimit, limit=settings.max_body_mb * 2**20),
            Middleware(Authentication, database=database, open_paths=OPEN_PATHS),
        ],
        exception_handlers={HTTPException: answer, RequestValidationError: answer},
    )
    for part in (runs, events, trajectories, tokens, exports, models, datasets, catalog, usage, engines, health,
                 metrics, documentation):
        app.include_router(part.router)
    app.state.settings, app.state.objects = settings, objects
    return app
