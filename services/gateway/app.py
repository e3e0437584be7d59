"""Composition of the gateway: its middleware from the outside in, then its routes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import Depends, FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.store.objects import Objects
from services.gateway.admission.completion import Completions
from services.gateway.admission.dataset_rows import RowBounds
from services.gateway.admission.upload_parts import PartReceiver
from services.gateway.contract import Gateway
from services.gateway.declarations import OPEN_PATHS, Declarations
from services.gateway.middleware import errors, queries
from services.gateway.middleware.authentication import Authentication
from services.gateway.middleware.bodies import BodyLimit, LateBodies
from services.gateway.middleware.errors import ProblemResponses
from services.gateway.middleware.json_bodies import JsonBodies
from services.gateway.middleware.methods import Methods
from services.gateway.middleware.observation import RequestObservation
from services.gateway.middleware.permission import Permission
from services.gateway.middleware.request_ids import RequestIds
from services.gateway.middleware.shares import TenantShare
from services.gateway.openai.asking import Asking
from services.gateway.routes import (
    audiences,
    audit,
    benchmarks,
    catalog,
    chat,
    collections,
    curation,
    datasets,
    deletions,
    documentation,
    events,
    exports,
    grader_checks,
    grades,
    health,
    judges,
    keys,
    knowledge,
    models,
    openai_graders,
    outcomes,
    package_jobs,
    packages,
    quotas,
    routing,
    runs,
    sessions,
    stored_graders,
    tenants,
    trajectories,
    uploads,
    usage,
    verification,
)

ROUTES = (runs, events, collections, outcomes, curation, sessions, audiences, knowledge, trajectories, grades, exports,
          models, chat, benchmarks, routing, judges, stored_graders, packages, package_jobs, grader_checks,
          verification, openai_graders, datasets, uploads, deletions, catalog, usage, quotas, keys, tenants, audit,
          health, documentation)

_DEPENDENCIES = [Security(HTTPBearer(auto_error=False)), Security(APIKeyHeader(name="X-API-Key", auto_error=False)),
                 Depends(queries.expect_known)]


def declarations() -> Declarations:
    """Return the declarations of all routes. Raises TypeError for a route without one."""
    return Declarations(route for module in ROUTES for route in module.router.routes)


def create(settings: Settings, database: AsyncDatabase, objects: Objects) -> FastAPI:
    """Return the application. It opens the database when it starts and closes it when it ends.

    Raises TypeError for a route that does not declare its scope and its noun.
    """
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await database.open()
        async with asking.calls.following():
            yield
        await database.close()

    asking, declared = Asking(settings, database, objects), declarations()
    app = Gateway(
        title="Hone", version=version("hone-rl"), docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Reinforcement learning as a service: models, datasets, runs and their results.",
        dependencies=_DEPENDENCIES, redirect_slashes=False, generate_unique_id_function=_operation_id,
        middleware=[
            Middleware(RequestObservation),
            Middleware(RequestIds),
            Middleware(LateBodies),
            Middleware(ProblemResponses),
            Middleware(BodyLimit, limit=settings.max_body_mb * 2**20),
            Middleware(Authentication, database=database, open_paths=OPEN_PATHS, stack_token=settings.stack_token),
            Middleware(Methods, declarations=declared),
            Middleware(Permission, declarations=declared),
            Middleware(TenantShare, most=settings.tenant_requests),
            Middleware(JsonBodies),
        ],
        exception_handlers={HTTPException: errors.answer, RequestValidationError: errors.answer},
    )
    for route in ROUTES:
        app.include_router(route.router)
    app.state.settings, app.state.objects = settings, objects
    app.state.asking = asking
    app.state.receiver, app.state.completions = PartReceiver(objects), Completions(objects, RowBounds.of(settings))
    return app


def _operation_id(route: APIRoute) -> str:
    """Return the name that generated clients give an operation: its action in the audit log, as in `runs_create`."""
    return "_".join([*map(str, route.tags), route.name])
