"""Quotas and budgets at the door: a limit that pauses a run refuses the calls that would use more."""

import time
from collections.abc import Callable

from hone import limits
from hone.api import learner_pb2
from hone.limits import Limit
from hone.rpc import outage
from hone.rpc.access import RULES
from hone.rpc.errors import OverBudget
from hone.store.database import AsyncDatabase, AsyncTransaction, Row
from services.door.call import Call

KEPT_S = 3.0
"""Seconds for which it is remembered whether a limit is reached."""
_MOST = 10_000
_APPEND = "/hone.v1.LearnerService/AppendOperations"


class Quotas:
    """Rest of the tenants' quotas."""

    def __init__(self, database: AsyncDatabase, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._known: dict[tuple[str, str], tuple[float, Limit | None]] = {}

    async def expect_some_left(self, call: Call) -> None:
        """Raise OverBudget if the call would use what its tenant, or the run that it is billed to, has used up.

        Raises NotReady during an outage, and InvalidField if the request is no message.
        """
        if not _spends(call):
            return
        limit = await self._limit(call.tenant_id, next(iter(call.named_by(RULES[call.method].billed)), ""))
        if limit is not None:
            raise OverBudget(f"{limit.reason}; expected {limit.until}")

    async def _limit(self, tenant_id: str, billed: str) -> Limit | None:
        """Return the limit that is reached. `billed` is a run, or a model that a run trains, or empty."""
        until, known = self._known.get((tenant_id, billed), (0.0, None))
        if self._clock() < until:
            return known
        self._known[tenant_id, billed] = (self._clock() + KEPT_S, known)  # others do not look up the same meanwhile
        try:
            with outage.reported():
                found = await self._look_up(tenant_id, billed)
        except BaseException:
            self._known.pop((tenant_id, billed), None)
            raise
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[tenant_id, billed] = (self._clock() + KEPT_S, found)
        return found

    async def _look_up(self, tenant_id: str, billed: str) -> Limit | None:
        async with self._database.transaction() as transaction:
            await transaction.one("tenants.enter", tenant=tenant_id)
            run = await _run(transaction, billed)
            # Without what is stored: calls store next to nothing, and to sum it up takes long.
            tenant = await transaction.one("tenants.limits", tenant=tenant_id, storage=False)
        return None if tenant is None else limits.reached({**tenant, **run})


async def _run(transaction: AsyncTransaction, billed: str) -> Row:
    """Return the figures of `runs.limits`, or nothing if the call is billed to no run."""
    row = await transaction.one("runs.billed", subject=billed) if billed and "\0" not in billed else None
    return (await transaction.one("runs.limits", run_id=row["id"]) if row else None) or {}


def _spends(call: Call) -> bool:
    if call.method != _APPEND:
        return RULES[call.method].spends
    return any(one.kind == learner_pb2.OPERATION_KIND_FORWARD_BACKWARD for one in call.request.operations)
