"""Stored samples, as graders read them: from the parts in the object store, and worlds by taking the actions again."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.single_turn import Asks
from hone.graders.sample import Origin, Reads, Sent, sent
from hone.graders.scenes import WorldLost
from hone.graders.specs import Spec
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.spans import named
from hone.rpc import outage
from hone.rpc.errors import NotFound, NotReady
from hone.store.database import AsyncDatabase, Row
from hone.store.objects import ObjectMissing, Objects, StoreAway
from hone.trajectory import parts
from hone.trajectory.records import Trajectory
from services.reward.grading import Key
from services.reward.worlds import Worlds

REPLAYS_AT_ONCE = 8


@dataclass(frozen=True)
class StoredPage:
    """Samples of some groups of a run, with their first grades. `lost`: why a world could not be made again."""

    rows: Mapping[Key, Row]
    samples: Mapping[Key, Sent]
    next: int = 0  # the last group, if there are more
    lost: Mapping[Key, str] = field(default_factory=dict)


class StoredSamples:
    """Reads stored samples."""

    def __init__(self, database: AsyncDatabase, objects: Objects, worlds: Worlds) -> None:
        self._database, self._objects, self._worlds = database, objects, worlds

    async def page(
        self, tenant_id: str, run_id: str, grader: Spec, purpose: str | None, limit: int, after: int
    ) -> StoredPage:
        """Return the samples of up to `limit` groups after a group, with what the grader reads.

        Raises NotFound for a run that is not the tenant's and where a part is gone, and NotReady while the database,
        the store or the simulation is away.
        """
        with outage.reported():
            if not await self._database.all("runs.owned", ids=[run_id], tenant_id=tenant_id):
                raise NotFound(f"run {run_id!r}: not a run of tenant {tenant_id!r}")
            groups = await self._database.all(
                "groups.stored", run_id=run_id, after=after, purpose=purpose, limit=limit + 1)
            shown = {group["id"]: group for group in groups[:limit]}
            rows = await self._database.all("trajectories.of_groups", group_ids=list(shown))
        by_key = {(row["group_id"], row["index"]): row for row in rows}
        found = await asyncio.to_thread(self._read, by_key)
        samples = {key: _sent(one, grader, shown[key[0]]) for key, one in found.items()}
        next_ = groups[limit - 1]["id"] if len(groups) > limit else 0
        if Reads.WORLD not in grader.reads:
            return StoredPage(by_key, samples, next_)
        worlds = await self._made_again(found)
        lost = {key: str(world) for key, world in worlds.items() if isinstance(world, WorldLost)}
        whole = {key: replace(samples[key], world=world) for key, world in worlds.items() if isinstance(world, str)}
        return StoredPage(by_key, whole, next_, lost)

    def _read(self, rows: Mapping[Key, Row]) -> dict[Key, Trajectory]:
        stored, found = dict[str, list[Trajectory]](), dict[Key, Trajectory]()
        for key, row in rows.items():
            if row["part"] not in stored:
                try:
                    stored[row["part"]] = parts.decode(self._objects.get(row["part"]))
                except ObjectMissing:
                    raise NotFound(f"The part {row['part']}, which holds samples of group {key[0]}, is not in the "
                                   "object store any more.") from None
                except StoreAway as away:
                    raise NotReady("the object store is away") from away
            found[key] = stored[row["part"]][row["row"]]
        return found

    async def _made_again(self, found: Mapping[Key, Trajectory]) -> dict[Key, str | WorldLost]:
        """Return the world of each trajectory, or why there is none."""
        places = asyncio.Semaphore(REPLAYS_AT_ONCE)

        async def world(one: Trajectory) -> str | WorldLost:
            async with places:
                try:
                    return await self._world(one)
                except WorldLost as lost:
                    return lost

        return dict(zip(found, await asyncio.gather(*map(world, found.values())), strict=True))

    async def _world(self, one: Trajectory) -> str:
        trunk = {call.index for call in one.calls if "." not in call.number}
        steps = [step for step in one.steps if step.call in trunk or step.call < 0]
        made = await self._worlds.replayed(
            of_world(one.task), [step.action for step in steps], [step.state_hash for step in steps])
        return made.model_dump_json()


def origin(task: Mapping[str, Any]) -> Origin:
    """Return the data that recreate the environment of a stored task."""
    return Origin(**{name: task.get(name) for name in Origin.model_fields})


def of_world(task: Mapping[str, Any]) -> Origin:
    """Return the data that recreate a stored task's world. Raises WorldLost without any: its state is the question.
    """
    made = origin(task)
    if isinstance(ENVIRONMENTS.get(made.environment), Asks):
        raise WorldLost(f"environment {made.environment} asks one question and has no state that an action changes")
    return made


def _sent(one: Trajectory, grader: Spec, group: Row) -> Sent:
    return sent(one.calls, one.steps, one.ended, json.dumps(one.item), grader.reads, named(_marks(group)))


def _marks(group: Row) -> Sequence[Any]:
    """Return the spans that a group's harness names; none where this process does not know the harness."""
    harness = HARNESSES.get(group["harness"])
    return harness.params.model_validate(group["harness_params"] or {}).spans if harness else []
