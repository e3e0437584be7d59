"""/v1/routes and /v1/feedback: names under which one of several models answers, and what came of it."""

from typing import Annotated, cast

from fastapi import APIRouter, Path, Request
from starlette.responses import JSONResponse

from hone.client.resources import Page
from hone.client.routing_resources import Decision, Feedback, Route, RouteEvaluation, WantedFeedback, WantedRoute
from services.gateway.admission.parameters import AfterName, Id, Limit, after, page, same
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import Caller
from services.gateway.openai.asking import Asking
from services.gateway.routing import evaluation, stored

router = APIRouter(prefix="/v1", tags=["routes"])

AfterDecision = Annotated[str | None, after(r"chatcmpl_\w+")]

Name = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_.-]{0,99}$", description="Name of the route, which clients ask "
                           "as hone/NAME.")]


@router.get("/routes", openapi_extra=needs("read", "routes"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterName = None) -> Page[Route]:
    """List the routes that were set, by name. `auto` is there without being set."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("routing.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([Route.model_validate(row) for row in rows], limit, "name")


@router.get("/routes/{name}", openapi_extra=needs("read", "routes"))
async def one(name: Id, caller: Caller) -> Route:
    """Return a route."""
    return await stored.one(caller, name)


@router.put("/routes/{name}", status_code=201, response_model=Route, responses=same(Route),
            openapi_extra=needs("run", "routes", {
                 "candidates": [{"model": "small", "cost": 1}, {"model": "large", "cost": 8}], "target": 0.9}))
async def put(name: Name, wanted: WantedRoute, caller: Caller) -> JSONResponse:
    """Make a route, or change it: what is absent gets its default. 201: it is new."""
    made, new = await stored.put(caller, name, wanted)
    return JSONResponse(made.model_dump(mode="json"), 201 if new else 200)


@router.delete("/routes/{name}", openapi_extra=needs("run", "routes"))
async def delete(name: Id, caller: Caller) -> Route:
    """Delete a route with its decisions and what was said of them. Returns what it was."""
    return await stored.delete(caller, name)


@router.get("/routes/{name}/decisions", openapi_extra=needs("read", "routes"))
async def decisions(name: Id, caller: Caller, limit: Limit = 50, after: AfterDecision = None) -> Page[Decision]:
    """List what was decided for a route and why, newest first, with what was said of the answers."""
    async with caller.transaction() as transaction:
        await stored.expect_known(caller, transaction, name)
        rows = await transaction.all(
            "routing.decisions", tenant_id=caller.tenant_id, route=name, after=after, limit=limit + 1)
    return page([Decision.model_validate(row) for row in rows], limit, "id")


@router.get("/routes/{name}/evaluation", responses={409: {
    "description": "The candidates have too few prompts with an outcome in common."}},
            openapi_extra=needs("read", "routes"))
async def evaluated(name: Id, caller: Caller, request: Request) -> RouteEvaluation:
    """Return a route's curve of cost and quality, beside random mixing, the length of prompts, and an oracle.

    It is computed of recorded outcomes; nothing is sampled.
    """
    models = cast(Asking, request.app.state.asking)
    return await evaluation.of_route(caller, models.calls, await stored.one(caller, name))


@router.post("/feedback", responses={404: {"description": "No answer of a route has this id."}},
             openapi_extra=needs("run", "routes", {"id": "chatcmpl_1", "score": 1}))
async def feedback(said: WantedFeedback, caller: Caller) -> Feedback:
    """Say how good the answer of a route was. It is an outcome of the model that answered; the last word counts."""
    async with caller.transaction() as transaction:
        row = await transaction.one("routing.say", id=said.id, score=said.score, comment=said.comment)
    if row is None:
        raise NotFound(f"There is no answer {said.id!r} of a route.")
    return Feedback.model_validate(row)
