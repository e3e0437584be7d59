"""Known facts of a model before it is asked: prompts with its outcomes, from runs and from clients' feedback."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import ValidationError

from hone.algorithms.inputs import Floats
from hone.algorithms.value import predicting
from hone.algorithms.value.predicting import OLDEST_STEPS
from hone.resolution import scores
from hone.spec.problems import Invalid
from hone.spec.run import RunSpec
from hone.store.database import AsyncDatabase, Row
from services.value.features import Features

FRESH_S = 5.0
"""Seconds for which a profile is used again. An outcome counts from then on."""
MOST_PROFILES = 64
"""Profiles that are kept in memory."""


@dataclass(frozen=True)
class Profile:
    """Prompts with an outcome of a model, the newest first, without one twice."""

    texts: Sequence[str]
    features: Floats  # [S, F]
    outcomes: Floats  # [S], from 0 to 1
    read_at: float = field(default_factory=time.monotonic)

    @property
    def fresh(self) -> bool:
        return time.monotonic() - self.read_at < FRESH_S


class Profiles:
    """Reads profiles of registered models and versions, and keeps each for some seconds."""

    def __init__(self, database: AsyncDatabase, features: Features) -> None:
        self._database, self._features = database, features
        self._kept = dict[tuple[str, str], Profile]()
        self._bounds = dict[str, tuple[float, float] | None]()  # by run; None: its spec cannot be read any more

    async def recent(self, tenant_id: str, subject_id: str) -> Profile:
        """Return the newest 256 prompts of a subject. One that is not the tenant's has none."""
        known = self._kept.get((tenant_id, subject_id))
        if known is not None and known.fresh:
            return known
        made = await self.read(tenant_id, subject_id, predicting.CONTEXT_ROWS)
        self._kept.pop((tenant_id, subject_id), None)
        self._kept[tenant_id, subject_id] = made
        while len(self._kept) > MOST_PROFILES:
            self._kept.pop(next(iter(self._kept)))
        return made

    async def read(self, tenant_id: str, subject_id: str, most: int) -> Profile:
        """Return the newest `most` prompts of a subject: what clients said, then what runs recorded of it."""
        about = {"tenant": tenant_id, "subject": subject_id, "most": most}
        said = await self._database.all("routing.said", **about)
        recorded = [*await self._database.all("routing.recorded", **about), *await self._steps(about, most)]
        await self._learn_bounds({row["run_id"] for row in recorded})
        found = dict[str, tuple[float, Floats]]()
        for row, features in zip(said, await self._features.of_texts([row["text"] for row in said]), strict=True):
            found.setdefault(row["text"], (row["mean"], features))
        for row, features in zip(recorded, await self._of_runs(recorded), strict=True):
            bounds = self._bounds[row["run_id"]]
            if bounds is not None:
                score = float(predicting.labels(np.array([row["mean"]], np.float64), *bounds)[0])
                found.setdefault(row["text"], (score, features))
        kept = dict(list(found.items())[:most])
        return Profile(list(kept), np.array([features for _, features in kept.values()], np.float64),
                       np.array([score for score, _ in kept.values()], np.float64))

    async def _steps(self, about: dict[str, object], most: int) -> list[Row]:
        """Return the outcomes of the last steps before a version, which say nearly as much of it as its own."""
        version = await self._database.one("routing.recent_steps", subject=about["subject"], tenant=about["tenant"])
        if version is None or version["number"] == 0:
            return []
        rows = await self._database.all(
            "prompts.context_of_steps", run_id=version["run_id"], asked=[], before_step=version["number"] + 1,
            since_step=version["number"] + 1 - OLDEST_STEPS, most=most)
        return [{**row, "run_id": version["run_id"]} for row in rows]

    async def _of_runs(self, rows: Sequence[Row]) -> list[Floats]:
        """Return the features of rows of several runs, in their order. New ones are stored with their run's prompts."""
        made = dict[tuple[str, str], Floats]()
        for run_id in dict.fromkeys(row["run_id"] for row in rows):
            own = list({row["task_hash"]: row for row in rows if row["run_id"] == run_id}.values())
            features = await self._features.of_rows(run_id, own)
            made |= {(run_id, row["task_hash"]): one for row, one in zip(own, features, strict=True)}
        return [made[row["run_id"], row["task_hash"]] for row in rows]

    async def _learn_bounds(self, run_ids: set[str]) -> None:
        if missing := run_ids - self._bounds.keys():
            rows = await self._database.all("routing.specs", run_ids=list(missing))
            self._bounds |= {row["id"]: _bounds(row) for row in rows}


def _bounds(row: Row) -> tuple[float, float] | None:
    try:
        return scores.bounds(RunSpec.model_validate(row["spec"]))
    except (Invalid, ValidationError):  # of an older release: its scores cannot be compared
        return None
