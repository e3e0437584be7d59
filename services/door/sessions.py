"""Sessions behind the door. Each is held by one simulation process; its id at the door says by which, sealed.

Any door finds the holder of a session, also after a restart, and no client reads an address inside the stack.
"""

import asyncio
import binascii
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from hone.api import simulation_pb2 as pb
from hone.rpc.errors import NotFound
from services.door.call import Call

_SERVICE = "/hone.v1.SimulationService/"
_LONGEST_ID = 1000
Ask = Callable[[str, bytes], Awaitable[bytes]]
"""Sends bytes of the call's request type to an address, and returns those of the answer."""


class Place(NamedTuple):
    """The holder of a session, and the session's id there."""

    address: str
    session_id: str


class UnknownSession(NotFound):
    """The id is none that the door gave this tenant."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id[:100]}: unknown here, or unused for too long")


class SessionIds:
    """Makes the ids that clients get, and reads them. `token` is the stack's."""

    def __init__(self, token: str) -> None:
        self._cipher = AESSIV(hashlib.sha512(b"sessions behind the door\0" + token.encode()).digest())

    def sealed(self, place: Place, tenant_id: str) -> str:
        """Return the id that clients of the tenant use."""
        hidden = self._cipher.encrypt(place.address.encode(), [tenant_id.encode(), place.session_id.encode()])
        return f"{place.session_id}.{urlsafe_b64encode(hidden).decode().rstrip('=')}"

    def opened(self, session_id: str, tenant_id: str) -> Place:
        """Return where a session is. Raises UnknownSession."""
        own, _, hidden = session_id.partition(".")
        try:
            if len(session_id) > _LONGEST_ID:
                raise UnknownSession(session_id)
            sealed = urlsafe_b64decode(hidden + "=" * (-len(hidden) % 4))
            address = self._cipher.decrypt(sealed, [tenant_id.encode(), own.encode()])
        except (InvalidTag, ValueError, binascii.Error):
            raise UnknownSession(session_id) from None
        return Place(address.decode(), own)


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
        if name in ("Step", "Say", "Snapshot", "Verify", "Fork", "Examine"):
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
