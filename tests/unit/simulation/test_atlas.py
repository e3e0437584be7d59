"""Names of worlds: the tenant's before the operator's, secrets opened, and every other name refused with its field."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from psycopg import OperationalError

from hone import sealing
from hone.api import simulation_pb2
from hone.api.trajectory_pb2 import Task
from hone.environments.contract import EpisodeLost, WrongParams
from hone.environments.foreign.places import LOOKUP, Place
from hone.rpc.errors import InvalidField, NotReady
from services.simulation.atlas import StoredAtlas
from services.simulation.packages.shelf import OWNER
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions

TOKEN = "a token of sixteen characters"
NOWHERE = Place(protocol="openenv", url="http://127.0.0.1:9")
OPERATORS = {"maze": NOWHERE, "sums": Place(protocol="verifiers", python="/none", package="sums")}
CALL: Any = SimpleNamespace(invocation_metadata=tuple)


def row(name: str, protocol: str, secret: str | None = None, sealed: bytes | None = None) -> dict[str, Any]:
    return {"name": name, "url": f"https://{name}.example", "terms": {"protocol": protocol, "timeout_s": 600},
            "secret": secret, "sealed": sealed}


KNOWN = {one["name"]: one for one in (
    row("shop", "mcp", "key", sealing.sealed(TOKEN, "ten_1", "abc")), row("expert", "chat"), row("open", "openenv"),
    row("unset", "mcp", "key"), row("other", "mcp", "key", sealing.sealed(TOKEN, "ten_2", "abc")))}


class Rows:
    """Worlds and judges of the tenant `ten_1`."""

    async def one(self, statement: str, /, tenant_id: str, **given: str) -> dict[str, Any] | None:
        assert statement == "judges.asked"
        if given["name"] == "away":
            raise OperationalError("no database")
        return KNOWN.get(given["name"]) if tenant_id == "ten_1" else None


async def found(name: str, protocol: Any, tenant: str = "ten_1") -> Place:
    atlas = StoredAtlas(Rows(), TOKEN, OPERATORS)  # type: ignore[arg-type]
    OWNER.set(tenant)
    return await asyncio.to_thread(atlas.place, name, protocol)


async def test_a_name_means_the_tenants_world_or_the_operators() -> None:
    assert await found("shop", "mcp") == Place(
        protocol="mcp", url="https://shop.example", authorization="Bearer abc", timeout_s=50)
    assert await found("open", "openenv") == Place(protocol="openenv", url="https://open.example", timeout_s=50)
    assert await found("maze", "openenv") == await found("maze", "openenv", tenant="") == NOWHERE


@pytest.mark.parametrize(("name", "protocol", "tenant", "words"), [
    ("shop", "mcp", "ten_2", "hone judges set NAME URL --protocol mcp"),
    ("sum", "verifiers", "ten_1", "speaks verifiers"),
    ("expert", "openenv", "ten_1", "which speaks chat"), ("maze", "mcp", "ten_1", "which speaks openenv"),
    ("unset", "mcp", "ten_1", "hone secrets set key"), ("other", "mcp", "ten_1", "whose secret key is set")])
async def test_another_name_is_refused(name: str, protocol: str, tenant: str, words: str) -> None:
    with pytest.raises(WrongParams, match=r"params.world") as wrong:
        await found(name, protocol, tenant)
    assert words in str(wrong.value)


async def test_a_database_that_is_away_is_waited_for() -> None:
    with pytest.raises(EpisodeLost, match="away cannot be looked up"):
        await found("away", "mcp")


async def test_a_session_waits_for_a_world_that_is_away_and_is_refused_in_one_that_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LOOKUP, "atlas", StoredAtlas(Rows(), TOKEN, OPERATORS))  # type: ignore[arg-type]
    simulation = Simulation("here", Sessions())
    for environment, world, kind, words in [
            ("openenv", "maze", NotReady, "OpenEnv server maze cannot be reached"),
            ("openenv", "none", InvalidField, r"tasks\[0\].params.world: found 'none'"),
            ("verifiers", "sums", InvalidField, r"an interpreter with verifiers \(/none\)")]:
        task = Task(environment=environment, params_json=f'{{"world": "{world}"}}')
        with pytest.raises(kind, match=words):
            await simulation.Reset(simulation_pb2.ResetRequest(tasks=[task]), CALL)
