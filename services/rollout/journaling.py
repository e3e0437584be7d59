"""Finished calls go to the journal at once; those that finish together go in one statement."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from hone.crashpoints import reach
from hone.store.database import AsyncDatabase
from hone.trajectory import journal
from hone.trajectory.records import Call
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim, LeaseLost


@dataclass(frozen=True)
class Finished:
    """Calls of a group by the index of their trajectory."""

    claim: Claim
    calls: dict[int, Call]


class Journal:
    """Writes calls so that a later claimant need not make them again."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._writes: Batcher[Finished, bool] = Batcher(self._write, calls=1)

    async def keep(self, claim: Claim, calls: dict[int, Call]) -> None:
        """Store calls durably; storing one again changes nothing. Raises LeaseLost when the group is not ours."""
        reach("call-journal")
        if not await self._writes.ask(Finished(claim, calls)):
            raise LeaseLost
        reach("journal.after")

    async def _write(self, finished: list[Finished]) -> AsyncIterator[tuple[int, bool]]:
        rows = [(one.claim, index, call) for one in finished for index, call in one.calls.items()]
        async with self._database.transaction() as transaction:
            held = await transaction.all(
                "rollout.journal_calls", group_ids=[claim.id for claim, _, _ in rows],
                attempts=[claim.attempt for claim, _, _ in rows], indices=[index for _, index, _ in rows],
                calls=[call.index for _, _, call in rows], bodies=[journal.encode(call) for _, _, call in rows])
        ours = {row["id"] for row in held}
        for place, one in enumerate(finished):
            yield place, one.claim.id in ours
