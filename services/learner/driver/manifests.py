"""Manifests of a run: the one that a step's tasks are drawn by, and those that it makes of its own rollouts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.algorithms import presets
from hone.algorithms.catalogue import SAMPLERS
from hone.algorithms.samplers.manifest import ManifestParams
from hone.algorithms.topocurate.curation import CurationParams
from hone.algorithms.topocurate.manifest import OWN, Entry, entries, inherited
from hone.resolution import scores, sources
from hone.resolution.stages import Stage
from hone.store.database import Database, Row
from hone.store.objects import Objects
from hone.trajectory import stored_samples
from hone.trajectory.plan import StepPlan
from services.learner.driver.decisions import CollectionVersion
from services.learner.driver.reporting import Event

MOST_GROUPS, MOST_TOKENS = 1024, 2**23
"""Newest groups of a run that one manifest of its own is made of, and the tokens of their samples, prompts included."""


@dataclass(frozen=True, eq=False)
class Manifest:
    """The tasks that a sampler draws from, and where they are stored."""

    name: str
    version: int
    entries: Sequence[Entry]


class Manifests:
    """Reads the manifests of a stage. Which one a step's tasks are drawn by follows from rows that never change."""

    def __init__(self, stage: Stage, slots: Mapping[str, Any], database: Database, run_id: str) -> None:
        self._stage, self._database, self._run_id = stage, database, run_id
        self._params = params_of(slots)
        self._last: Manifest | None = None
        self._of_step: tuple[int, Manifest | None] = 0, None

    @property
    def used(self) -> bool:
        """Whether the stage's sampler reads manifests."""
        return self._params is not None

    def of_step(self, step: int) -> Manifest | None:
        """Return the manifest of a step's tasks; None where they are drawn without one.

        Of a run's own manifests it is the newest one up to two steps before: tasks may be drawn while the step before
        is not planned yet.
        """
        if self._params is None:
            return None
        if self._of_step[0] != step:
            self._of_step = step, self._found(self._params, step)
        return self._of_step[1]

    def _found(self, params: ManifestParams, step: int) -> Manifest | None:
        if params.run is not None:
            return self._read(inherited(params.run), 0)
        row = self._database.one("collections.newest", run_id=self._run_id, name=OWN, first=self._stage.first,
                                 last=step - 2)
        return None if row is None or row["version"] is None else self._read(OWN, row["version"])

    def _read(self, name: str, version: int) -> Manifest:
        last = self._last
        if last is None or (last.name, last.version) != (name, version):
            rows = self._database.all("collections.of_version", run_id=self._run_id, name=name, version=version)
            last = self._last = Manifest(name, version, [Entry.of(row["body"]) for row in rows])
        return last


def params_of(slots: Mapping[str, Any]) -> ManifestParams | None:
    """Return the parameters of a sampler that reads a manifest; None for one that does not."""
    slot = slots["sampler"]
    found = SAMPLERS[slot["name"]].params.model_validate(slot["params"])
    return found if isinstance(found, ManifestParams) else None


def due(
    plan: StepPlan, stage: Stage, database: Database, objects: Objects, run_id: str
) -> list[CollectionVersion]:
    """Return the manifest that comes with a step, of the samples that it and the steps before it train on; or none."""
    params, count = params_of(presets.resolve(stage.spec.algorithm)), plan.n - stage.first + 1
    if params is None or params.run is not None or count % params.every:
        return []
    rows = database.all("trajectories.of_steps", run_id=run_id, first=plan.n - params.every + 1, last=plan.n - 1,
                        group_ids=[group.group_id for group in plan.groups], most=MOST_GROUPS)
    samples, _ = stored_samples.read(objects, _newest(rows), most_bytes=None)
    bounds = {one.name: scores.bounds(one.spec) for one in sources.of(stage.spec)}
    success_at = {name: low + (high - low) * params.success - 1e-9 for name, (low, high) in bounds.items()}
    return [_version(plan.n, entries(samples, success_at, CurationParams()))]


def _newest(rows: Sequence[Row]) -> list[Row]:
    """Return the samples of the newest groups, as many as may be read. It depends on nothing but what was sampled."""
    tokens = np.cumsum([row["tokens"] for row in rows])
    fitting = {row["group_id"] for row, total in zip(rows, tokens, strict=True) if total <= MOST_TOKENS}
    return [row for row in rows if row["group_id"] in fitting]


def _version(step: int, found: Sequence[Entry]) -> CollectionVersion:
    usable = sum(one.usable for one in found)
    warning = None if usable else Event(
        "curation", f"none of the {len(found)} tasks of the last steps had both a success and a failure: tasks are "
        "drawn as without a sampler", {"tasks": len(found)})
    return CollectionVersion(OWN, step, [one.item() for one in found], {},
                             {"sampler/tasks": float(len(found)), "sampler/usable": float(usable)}, warning)
