"""The curation of a run: the graph of each task's stored rollouts, and what follows from it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from hone.algorithms.topocurate.curation import (
    CurationParams,
    TaskScore,
    TrajectoryScore,
    probabilities,
    task,
    trajectories,
)
from hone.algorithms.topocurate.graph import START, STOP, Graph
from hone.algorithms.topocurate.turns import MOST_TURNS, Rollout, Thresholds, Turn
from hone.client.curation import CuratedTask, CuratedTrajectory, CurationEdge, CurationNode
from hone.store.database import Row
from hone.store.objects import ObjectMissing, Objects
from hone.trajectory import parts
from hone.trajectory.records import Trajectory

MOST_GROUPS, MOST_BYTES = 256, 2**28
"""Groups of one answer, and unpacked bytes of the parts that hold their samples."""
_EXAMPLE = 80
_ENDS = {START: "start", STOP: "end"}


@dataclass(frozen=True)
class StoredSample:
    """A stored sample of a task, as the graph reads it."""

    row: Row
    rollout: Rollout
    completion: str | None


def make(
    objects: Objects, rows: Sequence[Row], prompts: Mapping[str, str], success_at: float, params: CurationParams
) -> tuple[list[CuratedTask], bool]:
    """Return the tasks of these samples, the most worth training on first, and whether some samples were left out.

    A sample succeeds with a score of at least `success_at`. Samples without a score are left out.
    """
    stored, complete = _stored(objects, rows)
    by_task: dict[tuple[str, str], list[StoredSample]] = {}
    for row, trajectory in stored:
        if row["score"] is not None:
            by_task.setdefault((row["task_hash"], row["source"]), []).append(
                StoredSample(row, Rollout(turns(trajectory), row["score"] >= success_at), single_answer(trajectory)))
    graphs = {key: Graph.of([one.rollout for one in own], Thresholds(), params.smoothing)
              for key, own in by_task.items()}
    scores = {key: task(graph, params) for key, graph in graphs.items()}
    chances = probabilities(list(scores.values()), params)
    found = [_task(key, prompts.get(key[0], ""), own, graphs[key], scores[key], chance,
                   trajectories(graphs[key], params))
             for (key, own), chance in zip(by_task.items(), chances, strict=True)]
    return sorted(found, key=lambda one: -one.score), complete


def _stored(objects: Objects, rows: Sequence[Row]) -> tuple[list[tuple[Row, Trajectory]], bool]:
    """Return the rows' samples, newest groups first, as far as their parts are there and not too large."""
    found, size, by_part = list[tuple[Row, Trajectory]](), 0, dict[str, list[Row]]()
    for row in rows:
        by_part.setdefault(row["part"], []).append(row)
    for part, own in by_part.items():
        try:
            data = objects.get(part)
        except ObjectMissing:
            continue
        size += parts.unpacked_bytes(data)
        if size > MOST_BYTES:
            return found, False
        whole = parts.decode(data)
        found += [(row, whole[row["row"]]) for row in own]
    return found, True


def turns(trajectory: Trajectory) -> list[Turn]:
    """Return what a sample did: the steps of its environment, or its answers where it took none."""
    if trajectory.steps:
        return [_turn(step.action, step.valid, "\n".join(str(one.get("content", "")) for one in step.said))
                for step in trajectory.steps]
    return [Turn(call.kind, call.text, ok=True, observation="") for call in trajectory.calls if call.role == "policy"]


def _turn(action: str, valid: bool, observation: str) -> Turn:
    """Return a step as a turn. An action is the JSON of a tool call, or a text."""
    try:
        given = json.loads(action)
    except ValueError:
        given = None
    if isinstance(given, dict) and isinstance(given.get("tool"), str) and isinstance(given.get("arguments"), dict):
        return Turn(given["tool"], given["arguments"], valid, observation)
    return Turn("", action, valid, observation)


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
