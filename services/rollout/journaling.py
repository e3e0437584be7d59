"""Finished calls go to the journal at once; those that finish together go in one statement."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from hone.crashpoints import reach
from hone.store.database import AsyncDatabase
from hone.trajectory import journal
from hone.trajectory.records import Turn
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim, ClaimLost


@dataclass(frozen=True)
class Finished:
    """Turns of a group by the index of their trajectory, all of the same number among its calls."""

    claim: Claim
    turns: dict[int, Turn]


class Journal:
    """Writes calls so that a later claimant need not make them again."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._writes: Batcher[Finished, bool] = Batcher(self._write, calls=1)

    async def keep(self, claim: Claim, turns: dict[int, Turn]) -> None:
        """Store turns durably; storing one again changes nothing. Raises ClaimLost when the group is not ours."""
        reach("call-journal")
        if not await self._writes.ask(Finished(claim, turns)):
            raise ClaimLost
        reach("journal.after")

    async def _write(self, finished: list[Finished]) -> AsyncIterator[tuple[int, bool]]:
        """Write a row for what each asks, under the lowest index and its call."""
        first = [min(one.turns) for one in finished]
        held = await self._database.all(
            "journal.add", group_ids=[one.claim.id for one in finished],
            attempts=[one.claim.attempt for one in finished], indices=first,
            calls=[one.turns[index].call.index for one, index in zip(finished, first, strict=True)],
            bodies=[journal.encode(one.turns) for one in finished])
        ours = {row["id"] for row in held}
        for place, one in enumerate(finished):
            yield place, one.claim.id in ours
