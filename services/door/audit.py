"""The audit log's rows of calls that change something: pause a model, append operations, store grades.

A call has its answer once its row is written. Whoever got none repeats the call, which changes nothing twice.
"""

import re
from urllib.parse import unquote

from hone import ids
from hone.rpc import outage
from hone.rpc.access import RULES
from hone.rpc.tenancy import Caller
from hone.store.database import AsyncDatabase
from services.door.call import Call

REQUEST_ID = "x-request-id"
_LONGEST = 200
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Audit:
    """Writes rows of the audit log."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def tell(self, call: Call, who: Caller, peer: str) -> None:
        """Write the row of a call that may have changed something. Raises NotReady during an outage."""
        changed = RULES[call.method].changes
        if not changed:
            return
        subject = ", ".join(call.named_by(changed)).replace("\0", "")[:_LONGEST]
        with outage.reported():
            async with self._database.transaction() as transaction:
                await transaction.one("tenants.enter", tenant=who.tenant_id)
                await transaction.run(
                    "audit_log.add", tenant_id=who.tenant_id, key_id=who.key_id, action=action(call.method),
                    subject=subject, request_id=ids.of_request(dict(call.metadata).get(REQUEST_ID)),
                    address=_address(peer))


def action(method: str) -> str:
    """Return the name of an RPC in the audit log: inference.load_version."""
    service, _, name = method.removeprefix("/hone.v1.").partition("Service/")
    return f"{service.lower()}.{_WORD.sub('_', name).lower()}"


def _address(peer: str) -> str:
    """Return the host of a peer such as ipv4:127.0.0.1:4711."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
