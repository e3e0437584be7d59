"""Rollouts on demand: a group's samples in waves. Whether there is another wave follows from the rewards so far.

A wave is recorded on the group's row before it is sampled. A later claim of the group repeats the recorded waves: their
calls are in the journal and their grades in the ledger, so that it decides as the claim before would have.
"""

import math
from collections.abc import Awaitable, Callable, Mapping

from hone.algorithms.allocation.v0_5 import next_wave
from hone.api import reward_pb2
from hone.crashpoints import reach
from hone.store.database import AsyncDatabase
from hone.trajectory.order import Waves
from services.rollout.branches import Episode
from services.rollout.claims import Claim, ClaimLost
from services.rollout.clients import score
from services.rollout.retry import Retry

Grades = Mapping[int, reward_pb2.Grade]
"""The grade of each sample that is not masked, by its index."""
Make = Callable[[range], Awaitable[tuple[list[Episode], Grades]]]
"""Plays and grades the samples with these indices."""


class WaveRecord:
    """The rows' record of waves."""

    def __init__(self, database: AsyncDatabase, retry: Retry) -> None:
        self._database, self._retry = database, retry

    async def play(self, claim: Claim, waves: Waves, make: Make) -> tuple[list[Episode], Grades]:
        """Return all samples of a group and their grades. Raises ClaimLost when the group is no longer ours."""
        size, episodes, grades, number = claim.order.n, list[Episode](), dict[int, reward_pb2.Grade](), 0
        while size:
            made, graded = await make(range(len(episodes), len(episodes) + size))
            episodes += made
            grades |= graded
            size = claim.waves[number] if number < len(claim.waves) else wanted(waves, grades, len(episodes))
            if size and number >= len(claim.waves):
                await self._record(claim, number, size)
            number += 1
        return episodes, grades

    async def _record(self, claim: Claim, number: int, size: int) -> None:
        reach("wave.before-row")
        row = await self._retry.until_answered(claim, "the database", lambda: self._database.one(
            "groups.add_wave", group_id=claim.id, attempt=claim.attempt, number=number, size=size))
        if row is None:
            raise ClaimLost
        reach("wave.after-row")


def wanted(waves: Waves, grades: Grades, sampled: int) -> int:
    """Return the size of the next wave after `sampled` samples, 0 for none. Samples without a score do not count."""
    low, high = waves.bounds
    scores = [found for grade in grades.values() if (found := score(grade)) is not None and math.isfinite(found)]
    if not scores:
        return 0
    unit = [2 * (one - low) / (high - low) - 1 for one in scores]
    return min(next_wave(unit, 2 * waves.predicted - 1, waves.cost, waves.most, waves.mode), waves.most - sampled)
