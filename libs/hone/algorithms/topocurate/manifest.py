"""Manifests: what the rollouts of tasks say of each task, as items that are stored and read back."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from hone.algorithms.topocurate.curation import CurationParams, TaskScore, task
from hone.algorithms.topocurate.graph import Graph
from hone.algorithms.topocurate.rollouts import turns
from hone.algorithms.topocurate.turns import Rollout, Thresholds
from hone.trajectory.records import Trajectory

OWN, SAVED = "manifest", "curation"
"""Collections of a run: the manifests that it made as it went, by step, and those that a user saved."""


def inherited(run_id: str) -> str:
    """Return the name of the collection in which a run keeps the manifest of another run."""
    return f"manifest.{run_id}"


@dataclass(frozen=True)
class Entry:
    """A task of a manifest. `body` is the task itself where an environment made it, null for a dataset's row."""

    task_hash: str
    source: str
    body: Mapping[str, Any] | None
    score: TaskScore

    def item(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return {"task_hash": self.task_hash, "source": self.source, "task": self.body, **asdict(self.score)}

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> "Entry":
        """Return the entry of an item."""
        return cls(item["task_hash"], item["source"], item["task"],
                   TaskScore(**{one.name: item[one.name] for one in fields(TaskScore)}))

    @property
    def usable(self) -> bool:
        """Whether some of its rollouts succeeded and some failed."""
        return 0 < self.score.pass_rate < 1


def entries(
    samples: Iterable[tuple[Mapping[str, Any], Trajectory]], success_at: Mapping[str, float], params: CurationParams
) -> list[Entry]:
    """Return the tasks of these samples, in the order of their hashes.

    A sample succeeds with a score of at least `success_at` of its row's source. Samples without a score are left out.
    """
    by_task: dict[tuple[str, str], list[Rollout]] = {}
    bodies: dict[str, Mapping[str, Any] | None] = {}
    for row, trajectory in samples:
        if row["score"] is not None:
            success = row["score"] >= success_at[row["source"]]
            by_task.setdefault((row["task_hash"], row["source"]), []).append(Rollout(turns(trajectory), success))
            bodies[row["task_hash"]] = trajectory.task if trajectory.task.get("item") is None else None
    return [Entry(*key, bodies[key[0]], task(Graph.of(own, Thresholds(), params.smoothing), params))
            for key, own in sorted(by_task.items())]
