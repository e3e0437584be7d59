"""Worlds of others by their names: those that the tenant set beside its judges, and those of the operator's file.

Its methods wait, and are called in threads of their own; what they wait for runs on the service's loop.
"""

import asyncio
from collections.abc import Mapping

from psycopg import OperationalError

from hone import sealing
from hone.client.judge_resources import JudgeTerms
from hone.environments.contract import EpisodeLost, WrongParams
from hone.environments.foreign.places import LONGEST_S, Kind, Place
from hone.store.database import AsyncDatabase, Row
from services.simulation.packages.shelf import OWNER

_ANSWER_S = 30.0


class StoredAtlas:
    """Make it on the running loop."""

    def __init__(self, database: AsyncDatabase, stack_token: str, own: Mapping[str, Place]) -> None:
        self._database, self._token, self._own = database, stack_token, own
        self._loop = asyncio.get_running_loop()

    def place(self, name: str, protocol: Kind) -> Place:
        """Return a world of the tenant whose work it is, or else of the operator. Raises WrongParams and EpisodeLost.
        """
        tenant = OWNER.get()
        row = self._row(tenant, name) if tenant else None
        if row is None:
            return self._operators(name, protocol)
        terms = JudgeTerms.model_validate(row["terms"])
        if terms.protocol not in ("openenv", "mcp") or terms.protocol != protocol:
            raise _other(name, terms.protocol, protocol)
        return Place(protocol=protocol, url=row["url"], authorization=self._authorization(tenant, row),
                     timeout_s=min(terms.timeout_s, LONGEST_S))

    def _operators(self, name: str, protocol: Kind) -> Place:
        place = self._own.get(name)
        if place is None:
            how = "" if protocol == "verifiers" else f" (`hone judges set NAME URL --protocol {protocol}`)"
            raise WrongParams("params.world", name, f"the name of a world that speaks {protocol}{how}")
        if place.protocol != protocol:
            raise _other(name, place.protocol, protocol)
        return place

    def _authorization(self, tenant: str, row: Row) -> str:
        if row["secret"] is None:
            return ""
        expected = f"one whose secret {row['secret']} is set (`hone secrets set {row['secret']}`)"
        if row["sealed"] is None:
            raise WrongParams("params.world", row["name"], expected)
        try:
            return f"Bearer {sealing.opened(self._token, tenant, row['sealed'])}"
        except sealing.Unsealable as error:
            raise WrongParams("params.world", row["name"], expected) from error

    def _row(self, tenant: str, name: str) -> Row | None:
        work = self._database.one("judges.asked", tenant_id=tenant, name=name)
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(_ANSWER_S)
        except (OperationalError, TimeoutError) as error:
            raise EpisodeLost(f"the world {name} cannot be looked up: {error}") from error


def _other(name: str, speaks: str, wanted: str) -> WrongParams:
    return WrongParams("params.world", f"{name}, which speaks {speaks}", f"a world that speaks {wanted}")
