"""The tasks of one source that a manifest chooses: the entries that are its tasks, and their draw by place."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hone.algorithms import presets
from hone.algorithms.catalogue import SAMPLERS
from hone.algorithms.samplers.manifest import ManifestDraws
from hone.algorithms.topocurate.manifest import Entry
from hone.resolution.sources import Source
from hone.spec.run import RunSpec, TaskSource
from services.learner.driver.manifests import Manifest, params_of
from services.learner.driver.peers import Task

Rows = Mapping[str, int]
"""Places of training rows, by the content hashes of their tasks."""


class ChosenTasks:
    """The task at each place of a source, by the seed of the run, the manifest and the place alone."""

    def __init__(
        self, spec: RunSpec, source: Source, manifest: Manifest, rows: Rows | None, task_of: Callable[[int], Task],
    ) -> None:
        """`spec` is the stage's. `rows` are those of a dataset, None for an environment's tasks; `task_of` makes one.
        """
        self._source, self._version, self._rows, self._task_of = source, manifest.version, rows, task_of
        self._entries = [one for one in manifest.entries if _fits(one, source.spec.task, rows)]
        slots = presets.resolve(spec.algorithm)
        params = params_of(slots)
        chances, _, _ = SAMPLERS[slots["sampler"]["name"]](
            [one.score for one in self._entries], slots["sampler"]["params"], {})
        self._draws = ManifestDraws(spec.seed, chances, params.explore if params else 1.0, spec.batch.prompts)

    def task(self, place: int) -> Task | None:
        """Return the task at a place; None where the source's own order has it."""
        number = self._draws.task(place)
        return None if number is None else self._made(self._entries[number])

    def _made(self, entry: Entry) -> Task:
        body = entry.body
        found = Task(dict(body), entry.task_hash, self._source.name) if self._rows is None and body is not None else (
            self._task_of((self._rows or {})[entry.task_hash]))
        return replace(found, sampled=self._figures(entry))

    def _figures(self, entry: Entry) -> dict[str, float]:
        score = entry.score
        return {"version": float(self._version), "score": score.score, "pass_rate": score.pass_rate,
                "error_branches": score.error_branches, "heterogeneity": score.heterogeneity}


def _fits(entry: Entry, task: TaskSource, rows: Rows | None) -> bool:
    """Return whether an entry is a task of a source."""
    if rows is not None:
        return entry.task_hash in rows
    body: Mapping[str, Any] = entry.body or {}
    return (body.get("environment"), body.get("params")) == (task.environment, task.params)
