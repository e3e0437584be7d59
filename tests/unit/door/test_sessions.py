"""Sessions behind the door: each call goes to the process that holds the session, and no client learns where."""

from typing import Any

import pytest

from hone.api import simulation_pb2 as pb
from hone.rpc.errors import NotFound
from hone.rpc.session_ids import Place, SessionIds
from services.door.call import Call
from services.door.sessions import Sessions

TOKEN, SERVICE = "the-token-of-this-test", "/hone.v1.SimulationService/"
SEALED = SessionIds(TOKEN)


class Holders:
    """Simulation processes at any address. Each answers with its address."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    async def ask(self, address: str, raw: bytes, kind: Any) -> bytes:
        request = kind.FromString(raw)
        self.asked.append((address, request))
        if kind is pb.ResetRequest:
            answer: Any = pb.ResetResponse(sessions=[pb.Session(session_id="ses_1", address="10.0.0.2:1", ttl_s=600)])
        elif kind is pb.StepBatchRequest:
            answer = pb.StepBatchResponse(outcomes=[
                pb.StepOutcome(refused=f"{address} {one.session_id} {one.index} {one.action}")
                for one in request.steps])
        elif kind is pb.ForkRequest:
            answer = pb.ForkResponse(session=pb.Session(session_id="ses_fork", address=address))
        else:
            answer = pb.StepResponse(done=True)
        return bytes(answer.SerializeToString())


async def answered(holders: Holders, name: str, request: Any, tenant: str = "tenant_1") -> bytes:
    call = Call(SERVICE + name, tenant, request.SerializeToString(), (), 10.0)
    kind = type(request)
    return await Sessions(TOKEN, "any:8474").answer(call, lambda address, raw: holders.ask(address, raw, kind))


async def test_a_session_is_stepped_where_it_was_started_by_any_door() -> None:
    holders = Holders()
    made = pb.ResetResponse.FromString(await answered(holders, "Reset", pb.ResetRequest())).sessions[0]
    assert (made.address, made.ttl_s) == ("", 600)
    assert "10.0.0.2" not in made.session_id
    await answered(holders, "Step", pb.StepRequest(session_id=made.session_id, index=3, action="look"))
    assert holders.asked[1] == ("10.0.0.2:1", pb.StepRequest(session_id="ses_1", index=3, action="look"))
    fork = pb.ForkResponse.FromString(
        await answered(holders, "Fork", pb.ForkRequest(session_id=made.session_id))).session
    assert SEALED.opened(fork.session_id, "tenant_1") == Place("10.0.0.2:1", "ses_fork")


async def test_steps_of_several_holders_are_answered_in_their_order() -> None:
    holders = Holders()
    places = [Place("b:1", "ses_2"), Place("a:1", "ses_1"), Place("b:1", "ses_3")]
    ids = [*(SEALED.sealed(place, "tenant_1") for place in places), SEALED.sealed(places[0], "tenant_2"), "ses_4"]
    steps = [pb.StepRequest(session_id=one, index=number, action="go") for number, one in enumerate(ids)]
    answer = await answered(holders, "StepBatch", pb.StepBatchRequest(steps=steps))
    outcomes = pb.StepBatchResponse.FromString(answer).outcomes
    assert [one.refused for one in outcomes] == ["b:1 ses_2 0 go", "a:1 ses_1 1 go", "b:1 ses_3 2 go", "", ""]
    assert all("unknown here" in one.lost for one in outcomes[3:])
    assert [address for address, _ in holders.asked] == ["a:1", "b:1"]
    await answered(holders, "Close", pb.CloseRequest(session_ids=ids))
    assert holders.asked[2:] == [("a:1", pb.CloseRequest(session_ids=["ses_1"])),
                                 ("b:1", pb.CloseRequest(session_ids=["ses_2", "ses_3"]))]


async def test_an_error_of_one_holder_is_the_callers() -> None:
    async def ask(address: str, _: bytes) -> bytes:
        raise NotFound(address)

    ids = [SEALED.sealed(Place(address, "ses_1"), "tenant_1") for address in ("a:1", "b:1")]
    request = pb.CloseRequest(session_ids=ids)
    with pytest.raises(NotFound, match="a:1"):
        await Sessions(TOKEN, "any:1").answer(
            Call(SERVICE + "Close", "tenant_1", request.SerializeToString(), (), 10.0), ask)


@pytest.mark.parametrize("change", [
    lambda sealed: sealed[:-2] + ("AA" if sealed[-2:] != "AA" else "BB"), lambda sealed: "ses_2" + sealed[5:],
    lambda sealed: sealed.partition(".")[0], lambda _: "", lambda _: "ses_1.", lambda _: "ses_1.ä",
    lambda sealed: sealed + "A" * 2000, lambda _: "\0"])
async def test_no_other_id_leads_anywhere(change: Any) -> None:
    holders, sealed = Holders(), SEALED.sealed(Place("a:1", "ses_1"), "tenant_1")
    with pytest.raises(NotFound):
        await answered(holders, "Step", pb.StepRequest(session_id=change(sealed)))
    for stranger, ids in (("tenant_2", SEALED), ("tenant_1", SessionIds("another-token-of-a-stack"))):
        with pytest.raises(NotFound):
            ids.opened(sealed, stranger)
    assert holders.asked == []
