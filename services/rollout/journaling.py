"""Finished calls go to the journal at once; those that finish together go in one statement."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from hone.crashpoints import reach
from hone.store.database import AsyncDatabase
from hone.trajectory import journal
from hone.trajectory.records import Turn
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim, LeaseLost


@dataclass(frozen=True)
class Finished:
    """Turns of a group by the index of their trajectory."""

    claim: Claim
    turns: dict[int, Turn]


class Journal:
    """Writes calls so that a later claimant need not make them again."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._writes: Batcher[Finished, bool] = Batcher(self._write, calls=1)

    async def keep(self, claim: Claim, turns: dict[int, Turn]) -> None:
        """Store turns durably; storing one again changes nothing. Raises LeaseLost when the group is not ours."""
        reach("call-journal")
        if not await self._writes.ask(Finished(claim, turns)):
            raise LeaseLost
        reach("journal.after")

    async def _write(self, finished: list[Finished]) -> AsyncIterator[tuple[int, bool]]:
        rows = [(one.claim, index, turn) for one in finished for index, turn in one.turns.items()]
        async with self._database.transaction() as transaction:
            held = await transaction.all(
                "rollout.journal_calls", group_ids=[claim.id for claim, _, _ in rows],
                attempts=[claim.attempt for claim, _, _ in rows], indices=[index for _, index, _ in rows],
                calls=[turn.call.index for _, _, turn in rows], bodies=[journal.encode(turn) for _, _, turn in rows])
        ours = {row["id"] for row in held}
        for place, one in enumerate(finished):
            yield place, one.claim.id in ours
