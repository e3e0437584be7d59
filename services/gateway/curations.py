"""The curation of a run: the graph of each task's stored rollouts, and what follows from it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hone.algorithms.topocurate import manifest
from hone.algorithms.topocurate.curation import (
    CurationParams,
    TaskScore,
    TrajectoryScore,
    probabilities,
    task,
    trajectories,
)
from hone.algorithms.topocurate.graph import START, STOP, Graph
from hone.algorithms.topocurate.manifest import Entry
from hone.algorithms.topocurate.rollouts import turns
from hone.algorithms.topocurate.turns import MOST_TURNS, Rollout, Thresholds, Turn
from hone.client.curation import CuratedTask, CuratedTrajectory, CurationEdge, CurationNode
from hone.store.database import Row
from hone.store.objects import Objects
from hone.trajectory import stored_samples
from hone.trajectory.records import Trajectory

MOST_GROUPS = 256
"""Groups of one answer."""
_EXAMPLE = 80
_ENDS = {START: "start", STOP: "end"}


@dataclass(frozen=True)
class StoredSample:
    """A stored sample of a task, as the graph reads it."""

    row: Mapping[str, Any]
    rollout: Rollout
    completion: str | None


def make(
    objects: Objects, rows: Sequence[Row], prompts: Mapping[str, str], success_at: Mapping[str, float],
    params: CurationParams,
) -> tuple[list[CuratedTask], bool]:
    """Return the tasks of these samples, the most worth training on first, and whether some samples were left out.

    A sample succeeds with a score of at least `success_at` of its row's source. Samples without a score are left out.
    """
    stored, complete = stored_samples.read(objects, rows, stored_samples.MOST_BYTES)
    by_task: dict[tuple[str, str], list[StoredSample]] = {}
    for row, trajectory in stored:
        if row["score"] is not None:
            by_task.setdefault((row["task_hash"], row["source"]), []).append(
                StoredSample(row, Rollout(turns(trajectory), row["score"] >= success_at[row["source"]]),
                             single_answer(trajectory)))
    graphs = {key: Graph.of([one.rollout for one in own], Thresholds(), params.smoothing)
              for key, own in by_task.items()}
    scores = {key: task(graph, params) for key, graph in graphs.items()}
    chances = probabilities(list(scores.values()), params)
    found = [_task(key, prompts.get(key[0], ""), own, graphs[key], scores[key], chance,
                   trajectories(graphs[key], params))
             for (key, own), chance in zip(by_task.items(), chances, strict=True)]
    return sorted(found, key=lambda one: -one.score), complete


def entries(objects: Objects, rows: Sequence[Row], success_at: Mapping[str, float]) -> list[Entry]:
    """Return the entries of a manifest of these samples, one for each task, by the same rules."""
    return manifest.entries(stored_samples.read(objects, rows)[0], success_at, CurationParams())


def single_answer(trajectory: Trajectory) -> str | None:
    """Return the text of a sample that is one answer of the policy and nothing else; None for any other."""
    alone = len(trajectory.calls) == 1 and trajectory.calls[0].role == "policy" and len(trajectory.steps) <= 1
    return trajectory.calls[0].text if alone else None


def _task(
    key: tuple[str, str], prompt: str, samples: Sequence[StoredSample], graph: Graph, scored: TaskScore,
    probability: float, weights: Sequence[TrajectoryScore | None],
) -> CuratedTask:
    shown = [_trajectory(sample, path, weight)
             for sample, path, weight in zip(samples, graph.paths, weights, strict=True)]
    edges = [CurationEdge(start=start, end=end, rollouts=count, successes=graph.won_edges.get((start, end), 0))
             for (start, end), count in sorted(graph.edges.items())]
    return CuratedTask(
        task_hash=key[0], source=key[1], prompt=prompt, probability=probability, nodes=list(_nodes(samples, graph)),
        edges=edges, trajectories=shown, **asdict(scored))


def _trajectory(sample: StoredSample, path: Sequence[int], weight: TrajectoryScore | None) -> CuratedTrajectory:
    return CuratedTrajectory(
        group_id=sample.row["group_id"], index=sample.row["index"], score=sample.row["score"],
        success=sample.rollout.success, path=list(path), completion=sample.completion,
        **({} if weight is None else asdict(weight)))


def _nodes(samples: Sequence[StoredSample], graph: Graph) -> Iterator[CurationNode]:
    """Yield the nodes in the order of their numbers, each with the first turn of its class; start and end first."""
    first: dict[int, Turn] = {}
    for sample, path in zip(samples, graph.paths, strict=True):
        for node, turn in zip(path[1:-1], sample.rollout.turns[:MOST_TURNS], strict=True):
            first.setdefault(node, turn)
    for node in sorted(graph.visits):
        turn = first.get(node, Turn(_ENDS.get(node, ""), "", ok=True, observation=""))
        yield CurationNode(
            id=node, tool=turn.tool, ok=turn.ok, example=_example(turn), rollouts=graph.visits[node],
            successes=graph.won.get(node, 0), potential=graph.potential(node))


def _example(turn: Turn) -> str:
    given = turn.arguments if isinstance(turn.arguments, str) else json.dumps(turn.arguments, ensure_ascii=False)
    return given[:_EXAMPLE]
