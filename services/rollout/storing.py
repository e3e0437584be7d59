"""A wave of graded groups becomes one Parquet part for each run, then true in one transaction."""

import asyncio
import json
from itertools import groupby

from psycopg.types.json import Jsonb

from hone.crashpoints import reach
from hone.ids import new
from hone.store.database import AsyncDatabase, AsyncTransaction
from hone.store.objects import Objects
from hone.telemetry import metrics, tracing
from hone.trajectory import parts
from hone.trajectory.records import PREVIEW, Call, Trajectory
from services.rollout.group import Graded
from services.rollout.patience import Patience

MESSAGE = 1000
"""Characters of an event."""


class Store:
    """Writes what is finished: objects first, then the rows that name them."""

    def __init__(self, database: AsyncDatabase, objects: Objects, patience: Patience) -> None:
        self._database, self._objects, self._patience = database, objects, patience

    async def keep(self, wave: list[Graded]) -> None:
        """Make the groups ready. One that is no longer its claimant's is left out: somebody else was first.

        Raises ClaimLost when the store or the database was away until the claims were lost.
        """
        by_run = sorted(wave, key=lambda graded: (graded.claim.run_id, graded.claim.id))
        for run_id, groups in groupby(by_run, key=lambda graded: graded.claim.run_id):
            together = list(groups)
            with tracing.together([graded.place for graded in together]), tracing.span("store", groups=len(together)):
                await self._keep(run_id, together)

    async def _keep(self, run_id: str, groups: list[Graded]) -> None:
        part = f"runs/{run_id}/parts/{new('part')}.parquet"
        rows = [trajectory for graded in groups for trajectory in graded.trajectories]
        data = await asyncio.to_thread(parts.encode, rows)
        first = groups[0].claim
        await self._patience.keep(first, "the object store", lambda: asyncio.to_thread(self._objects.put, part, data))
        reach("part.object-row")
        await self._patience.keep(first, "the database", lambda: self._commit(run_id, part, groups, rows))
        reach("ready.after")

    async def _commit(self, run_id: str, part: str, groups: list[Graded], rows: list[Trajectory]) -> None:
        claims = [graded.claim for graded in groups]
        async with self._database.transaction() as transaction:
            made = await transaction.all(
                "groups.make_ready", part=part, group_ids=[claim.id for claim in claims],
                attempts=[claim.attempt for claim in claims], versions=[json.dumps(_versions(one)) for one in groups])
            ready = {row["id"] for row in made}
            metrics.GROUPS_READY.inc(len(ready))
            if ready:
                stored = [(row, one) for row, one in enumerate(rows) if one.group_id in ready]
                await _describe(transaction, claims[0].tenant_id, run_id, part, stored)
                await _tell_masked(transaction, [graded for graded in groups if graded.claim.id in ready])
                await transaction.run("server.notify", channel="groups", payload=run_id)


async def _tell_masked(transaction: AsyncTransaction, groups: list[Graded]) -> None:
    for claim, index, reason in ((one.claim, index, reason) for one in groups for index, reason in one.masked.items()):
        await transaction.run(
            "events.add", tenant_id=claim.tenant_id, run_id=claim.run_id, kind="rollout.masked",
            message=f"{claim.order.request}, sample {index} has no score: {reason}"[:MESSAGE].replace("\0", ""),
            data=Jsonb({"group_id": claim.id, "index": index}))


def _versions(graded: Graded) -> list[str]:
    """Return the ids of the versions that sampled a group's tokens."""
    calls = (call for trajectory in graded.trajectories for call in trajectory.calls if call.role == "policy")
    return sorted({span.version_id for call in calls for span in call.versions})


def _of_policy(trajectory: Trajectory) -> list[Call]:
    """Return the policy's calls; where it made none, everybody's."""
    return [call for call in trajectory.calls if call.role == "policy"] or trajectory.calls


async def _describe(
    transaction: AsyncTransaction, tenant_id: str, run_id: str, part: str, stored: list[tuple[int, Trajectory]]
) -> None:
    trajectories = [trajectory for _, trajectory in stored]
    completions = [sum(len(call.completion_ids) for call in one.calls) for one in trajectories]
    prompts = [sum(len(call.prompt_ids) for call in one.calls) for one in trajectories]
    last = [_of_policy(one)[-1] for one in trajectories]
    await transaction.run(
        "trajectories.add", tenant_id=tenant_id, run_id=run_id, part=part, rows=[row for row, _ in stored],
        group_ids=[one.group_id for one in trajectories], indices=[one.index for one in trajectories],
        prompt_tokens=prompts,
        completion_tokens=[sum(len(call.completion_ids) for call in _of_policy(one)) for one in trajectories],
        finish_reasons=[call.finish_reason for call in last],
        statuses=[one.status for one in trajectories], scores=[one.score for one in trajectories],
        previews=[call.text[:PREVIEW].replace("\0", "") for call in last])
    await transaction.run("usage.add", run_id=run_id, kinds=["prompt_tokens", "completion_tokens"],
                          amounts=[float(sum(prompts)), float(sum(completions))])
