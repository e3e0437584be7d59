"""Routes as they are stored: set, read and deleted, each with candidates that have a cost."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from hone.client.routing_resources import AUTO, EXPLORATION, PREFIX, CostedModel, Route, WantedRoute
from hone.spec.problems import Invalid, Problem, found
from hone.store.database import AsyncTransaction
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.openai import names
from services.gateway.openai.refusals import ModelNotFound

MOST_DEFAULT = 8
"""Candidates of the route that nobody has set."""


class Candidate(NamedTuple):
    """A candidate that is there."""

    model: str
    subject_id: str
    cost: float


class Present(NamedTuple):
    """The candidates of a route that are there, and why others are not."""

    candidates: Sequence[Candidate]
    gone: Mapping[str, str]


async def put(session: TenantSession, name: str, wanted: WantedRoute) -> tuple[Route, bool]:
    """Make or change a route; return it, and whether it is new. Raises Invalid for a candidate that is not there."""
    async with session.transaction() as transaction:
        present = await _present(transaction, [(one.model, one.cost) for one in wanted.candidates])
        if present.gone:
            place, model = next((place, one.model) for place, one in enumerate(wanted.candidates)
                                if one.model in present.gone)
            raise Invalid([Problem(f"candidates[{place}].model", f"{found(model)}: {present.gone[model]}",
                                   "a registered model, a version, a run, RUN@latest or RUN@STEP")])
        candidates = [{"model": one.model, "cost": one.cost} for one in present.candidates]
        row = await transaction.one(
            "routing.put", tenant_id=session.tenant_id, name=name, candidates=Jsonb(candidates),
            objective=Jsonb(wanted.chosen), exploration=wanted.exploration)
    if row is None:
        raise NotFound(f"There is no route {name!r}.")
    return Route.model_validate(row), row["made"]


async def one(session: TenantSession, name: str) -> Route:
    """Return a route. Raises NotFound; `auto` is always there."""
    async with session.transaction() as transaction:
        row = await transaction.one("routing.one", tenant_id=session.tenant_id, name=name)
        if row is not None:
            return Route.model_validate(row)
        if name != AUTO:
            raise NotFound(f"There is no route {name!r}.")
        return await _auto(session, transaction)


async def expect_known(session: TenantSession, transaction: AsyncTransaction, name: str) -> None:
    """Raise NotFound for a name that is no route's."""
    if name != AUTO and await transaction.one("routing.one", tenant_id=session.tenant_id, name=name) is None:
        raise NotFound(f"There is no route {name!r}.")


async def _auto(session: TenantSession, transaction: AsyncTransaction) -> Route:
    """Return the route over the newest registered models and runs that succeeded."""
    rows = await transaction.all("routing.candidates", tenant_id=session.tenant_id, most=MOST_DEFAULT)
    present = await _present(transaction, [(row["model"], None) for row in rows])
    return Route(name=AUTO, default=True, objective={"weight": 0.5}, exploration=EXPLORATION, candidates=[
        CostedModel(model=one.model, cost=one.cost) for one in present.candidates])


async def present(session: TenantSession, route: Route) -> Present:
    """Return which of a route's candidates are there now."""
    async with session.transaction() as transaction:
        return await _present(transaction, [(one.model, one.cost) for one in route.candidates])


async def _present(transaction: AsyncTransaction, wanted: Sequence[tuple[str, float | None]]) -> Present:
    candidates, gone = list[Candidate](), dict[str, str]()
    for model, cost in wanted:
        try:
            located = await names.locate(transaction, model)
        except ModelNotFound as refusal:
            gone[model] = refusal.detail
            continue
        known = await _parameters(transaction, located) if cost is None else cost
        candidates.append(Candidate(model, located.subject_id, known))
    return Present(candidates, gone)


async def _parameters(transaction: AsyncTransaction, located: names.Located) -> float:
    """Return the number of parameters, in millions: what an answer costs, where nobody says it."""
    facts: Mapping[str, Any] = located.row.get("origin") or {}
    if located.run is not None:
        origin = await transaction.one("versions.origin", version_id=located.subject_id)
        facts = origin["manifest"] if origin else {}
    return float(facts.get("parameters", 0)) / 1e6


async def delete(session: TenantSession, name: str) -> Route:
    """Delete a route with its decisions. Raises NotFound."""
    async with session.transaction() as transaction:
        row = await transaction.one("routing.one", tenant_id=session.tenant_id, name=name)
        if row is None:
            raise NotFound(f"There is no route {name!r} that was set.")
        await transaction.run("routing.forget", tenant_id=session.tenant_id, name=name)
        await transaction.run("routing.delete", tenant_id=session.tenant_id, name=name)
    return Route.model_validate(row)


def name_of(model: str) -> str | None:
    """Return the name of the route that a request's model names; None for a model."""
    return model.removeprefix(PREFIX) if model.startswith(PREFIX) else None
