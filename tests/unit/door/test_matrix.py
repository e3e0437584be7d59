"""Every RPC against every wrong caller: at the door, and at the services behind it. A new RPC needs a rule."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
import pytest_asyncio
from google.protobuf.message_factory import GetMessageClass

from hone import scopes
from hone.api import inference_pb2_grpc as inference
from hone.api import learner_pb2_grpc as learner
from hone.api import reward_pb2_grpc as reward
from hone.api import simulation_pb2_grpc as simulation
from hone.api import value_pb2_grpc as value
from hone.rpc import server
from hone.rpc.access import RULES
from hone.rpc.client import channel
from hone.rpc.tenancy import Tenancy
from hone.stack import ports
from services.door.call import METHODS
from tests.unit.door.fakes import SCOPES, Echo, Rows, door, ended

TOKEN = "the-token-of-this-test"
GARBAGE = b"\xff\xff\xff"
EACH = pytest.mark.parametrize("method", sorted(METHODS))


def test_every_rpc_has_a_rule_and_every_rule_an_rpc() -> None:
    assert RULES.keys() == METHODS.keys()
    for method, rule in RULES.items():
        assert rule.model or rule.run or rule.tenant or rule.checks, method


@EACH
def test_the_page_tells_the_scope(method: str) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "grpc.md").read_text()
    cells = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| ")]
    scopes = [scope.strip() for names, scope in cells if method.rpartition("/")[2] in names.replace(",", " ").split()]
    assert scopes == [RULES[method].scope]


@pytest_asyncio.fixture
async def echo() -> Echo:
    return Echo()


@pytest_asyncio.fixture
async def opened(echo: Echo) -> AsyncIterator[grpc.aio.Channel]:
    async with door(Rows(), echo) as (channel_to_it, _):
        yield channel_to_it


@EACH
async def test_the_door_serves_those_who_may(method: str, opened: grpc.aio.Channel, echo: Echo) -> None:
    wanted: dict[str | None, grpc.StatusCode] = {
        None: grpc.StatusCode.UNAUTHENTICATED, "tml-wrong": grpc.StatusCode.UNAUTHENTICATED,
        "": grpc.StatusCode.UNAUTHENTICATED,
        **{secret: grpc.StatusCode.OK if scopes.includes(held, RULES[method].scope)
           else grpc.StatusCode.PERMISSION_DENIED for secret, held in SCOPES.items()}}
    for secret, code in wanted.items():
        shown = [] if secret is None else [("authorization", f"Bearer {secret}")]
        found, answers, _ = await ended(opened, method, b"", *shown, ("hone-tenant", "tenant_2"), ("mine", "1"))
        assert (found, answers) == (code, [b"answer"] if code is grpc.StatusCode.OK else []), secret
    for call in echo.calls:
        assert call.metadata == (("mine", "1"), ("hone-tenant", "tenant_1"), ("hone-key", "key_1"))
        assert 30 < call.timeout_s < 70, "the time that the caller gave; the wire rounds up"


@pytest_asyncio.fixture
async def services() -> AsyncIterator[str]:
    """All five services at one address, whose database has no row of the caller's."""

    async def strange(_: str, __: str, ids: set[str]) -> set[str]:
        return ids

    def register(grpc_server: grpc.aio.Server) -> None:
        engine = inference.InferenceServiceServicer()  # type: ignore[abstract]
        inference.add_InferenceServiceServicer_to_server(engine, grpc_server)
        learner.add_LearnerServiceServicer_to_server(learner.LearnerServiceServicer(), grpc_server)  # type: ignore[abstract]
        reward.add_RewardServiceServicer_to_server(reward.RewardServiceServicer(), grpc_server)  # type: ignore[abstract]
        player = simulation.SimulationServiceServicer()  # type: ignore[abstract]
        simulation.add_SimulationServiceServicer_to_server(player, grpc_server)
        value.add_ValueServiceServicer_to_server(value.ValueServiceServicer(), grpc_server)  # type: ignore[abstract]

    address = f"127.0.0.1:{ports.pick(1)[0]}"
    tenancy = cast(Tenancy, SimpleNamespace(rows=SimpleNamespace(strange=strange)))
    serving = await server.start(address, "hone.v1.InferenceService", TOKEN, register, tenancy)
    yield address
    await serving.stop(0)


@EACH
async def test_a_service_asks_for_the_stacks_token_and_for_a_message(method: str, services: str) -> None:
    async with channel(services, "") as strange, channel(services, TOKEN) as own:
        assert (await ended(strange, method, b""))[0] is grpc.StatusCode.UNAUTHENTICATED
        assert (await ended(strange, method, b"", ("hone-tenant", "tenant_1")))[0] is grpc.StatusCode.UNAUTHENTICATED
        assert (await ended(own, method, GARBAGE))[0] is grpc.StatusCode.INVALID_ARGUMENT
        through = (("hone-tenant", "tenant_1"), ("hone-key", "key_1"))
        assert (await ended(own, method, GARBAGE, *through))[0] is grpc.StatusCode.INVALID_ARGUMENT


NAMED = [(method, path) for method, rule in sorted(RULES.items())
         for path in (rule.model, rule.run, rule.tenant) if path]


@pytest.mark.parametrize(("method", "path"), NAMED)
async def test_what_is_another_tenants_is_not_found(method: str, path: str, services: str) -> None:
    request = GetMessageClass(METHODS[method].input_type)()
    *outer, name = path.split(".")
    place: Any = request
    for each in outer:
        inner = getattr(place, each)
        place = inner.add() if hasattr(inner, "add") else inner
    setattr(place, name, "of_another")
    async with channel(services, TOKEN) as own:
        caller = (("hone-tenant", "tenant_1"), ("hone-key", "key_1"))
        found = await ended(own, method, request.SerializeToString(), *caller)
    assert found[0] is grpc.StatusCode.NOT_FOUND
