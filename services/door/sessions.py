"""Sessions behind the door. Each is held by one simulation process; its id at the door says by which, sealed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from hone.api import simulation_pb2 as pb
from hone.rpc.session_ids import Place, SessionIds, UnknownSession
from services.door.call import Call

_SERVICE = "/hone.v1.SimulationService/"
Ask = Callable[[str, bytes], Awaitable[bytes]]
"""Sends bytes of the call's request type to an address, and returns those of the answer."""


class Sessions:
    """Passes on the calls about sessions, each to the process that holds the session."""

    def __init__(self, token: str, address: str) -> None:
        self._ids, self._address = SessionIds(token), address

    async def answer(self, call: Call, ask: Ask) -> bytes:
        """Return the answer to a call of the simulation service. Raises what `ask` raises, and UnknownSession."""
        name = call.method.removeprefix(_SERVICE)
        if name == "StepBatch":
            return await self._step_all(call, ask)
        if name == "Close":
            return await self._close(call, ask)
        if name in ("Step", "Say", "FindWords", "Snapshot", "Verify", "Fork", "Examine"):
            request, place = call.request, self._ids.opened(call.request.session_id, call.tenant_id)
            request.session_id = place.session_id
            answer = await ask(place.address, request.SerializeToString())
        else:
            answer = await ask(self._address, call.raw)
        return self._renamed(name, answer, call.tenant_id)

    def _renamed(self, name: str, answer: bytes, tenant_id: str) -> bytes:
        """Return an answer whose new sessions have the ids of the door, and no address."""
        kind: Any = {"Reset": pb.ResetResponse, "Restore": pb.RestoreResponse, "Fork": pb.ForkResponse,
                     "CreateUser": pb.CreateUserResponse}.get(name)
        if kind is None:
            return answer
        read = kind.FromString(answer)
        for session in read.sessions if name == "Reset" else [read.session]:
            place = Place(session.address or self._address, session.session_id)
            session.session_id = self._ids.sealed(place, tenant_id)
            session.address = ""
        return bytes(read.SerializeToString())

    async def _step_all(self, call: Call, ask: Ask) -> bytes:
        """Ask each holder for the steps of its sessions. A step of an unknown session is lost, the others are taken."""
        steps = call.request.steps
        places = {number: place for number, step in enumerate(steps)
                  if (place := self._place(step.session_id, call.tenant_id))}
        outcomes = [pb.StepOutcome(lost=str(UnknownSession(step.session_id))) for step in steps]

        async def ask_one(address: str) -> None:
            own = [number for number, place in places.items() if place.address == address]
            request = pb.StepBatchRequest(steps=[
                pb.StepRequest(session_id=places[number].session_id, index=steps[number].index,
                               action=steps[number].action) for number in own])
            answer = pb.StepBatchResponse.FromString(await ask(address, request.SerializeToString()))
            for number, outcome in zip(own, answer.outcomes, strict=True):
                outcomes[number] = outcome

        await _each(ask_one, {place.address for place in places.values()})
        return pb.StepBatchResponse(outcomes=outcomes).SerializeToString()

    async def _close(self, call: Call, ask: Ask) -> bytes:
        places = [place for one in call.request.session_ids if (place := self._place(one, call.tenant_id))]

        async def close_there(address: str) -> None:
            own = [place.session_id for place in places if place.address == address]
            await ask(address, pb.CloseRequest(session_ids=own).SerializeToString())

        await _each(close_there, {place.address for place in places})
        return pb.CloseResponse().SerializeToString()

    def _place(self, session_id: str, tenant_id: str) -> Place | None:
        try:
            return self._ids.opened(session_id, tenant_id)
        except UnknownSession:
            return None


async def _each(work: Callable[[str], Awaitable[None]], addresses: Iterable[str]) -> None:
    """Do the work at every address at the same time; raise the first error once all have ended."""
    ended = await asyncio.gather(*map(work, sorted(addresses)), return_exceptions=True)
    for error in ended:
        if isinstance(error, BaseException):
            raise error
