"""Ids of sessions of the simulation service, as clients get them: each says which process holds the session, sealed.

Any door and any gateway finds the holder of a session, also after a restart, and no client reads an address inside the
stack.
"""

import binascii
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from hone.rpc.errors import NotFound

_LONGEST_ID = 1000


class Place(NamedTuple):
    """The holder of a session, and the session's id there."""

    address: str
    session_id: str


class UnknownSession(NotFound):
    """The id is none that this tenant was given."""

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
