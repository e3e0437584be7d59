"""Clients of the services that the driver calls: tasks from simulation, budgets and baselines from value."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hone.api import simulation_pb2, simulation_pb2_grpc, value_pb2, value_pb2_grpc
from hone.rpc.client import TIMEOUT_S, blocking_channel
from hone.spec.run import Slot, TaskSource
from hone.spec.settings import Settings

_SPLITS = {"TRAIN": simulation_pb2.SPLIT_TRAIN, "HELD_OUT": simulation_pb2.SPLIT_HELD_OUT}


@dataclass(frozen=True)
class Task:
    """A task as a group row stores it, its content hash, and the name of its source, "" where the task is no mixture.
    """

    body: dict[str, Any]
    content_hash: str
    source: str = ""


class Peers:
    """Blocking clients. Every call has a deadline and raises grpc.RpcError if the service does not answer."""

    def __init__(self, settings: Settings) -> None:
        places, token = settings.addresses, settings.stack_token
        self._simulation = simulation_pb2_grpc.SimulationServiceStub(blocking_channel(places.simulation, token))
        self._value = value_pb2_grpc.ValueServiceStub(blocking_channel(places.value, token))

    def draw(
        self, source: TaskSource, split: Literal["TRAIN", "HELD_OUT"], seed: int, first: int, count: int,
    ) -> list[Task]:
        """Return tasks `first … first+count-1` of the split's stream."""
        request = simulation_pb2.DrawTasksRequest(
            environment=source.environment or "", params_json=json.dumps(source.params),
            split=_SPLITS[split], seed=seed, first=first, count=count)
        drawn = self._simulation.DrawTasks(request, timeout=TIMEOUT_S).tasks
        return [Task(_body(task), task.content_hash) for task in drawn]

    def allocate(
        self, run_id: str, slot: Slot, task_hashes: Sequence[str], budget: int, steps: tuple[int, int],
        bounds: tuple[float, float],
    ) -> list[int]:
        """Return how many rollouts each task gets, by the outcomes of the steps from the first to before the second.

        `bounds` are the smallest and the largest score of the run's grader.
        """
        request = value_pb2.AllocateRolloutsRequest(
            run_id=run_id, method=slot.name, params_json=json.dumps(slot.params), task_hashes=task_hashes,
            budget=budget, since_step=steps[0], before_step=steps[1], lowest=bounds[0], highest=bounds[1])
        return list(self._value.AllocateRollouts(request, timeout=TIMEOUT_S).rollouts)

    def baselines(
        self, run_id: str, task_hashes: Sequence[str], since_step: int, before_step: int
    ) -> dict[str, float]:
        """Return the mean outcome of each task over the steps from `since_step` to before `before_step`, if it has any.
        """
        request = value_pb2.BaselineRequest(
            run_id=run_id, task_hashes=task_hashes, since_step=since_step, before_step=before_step)
        found = self._value.Baseline(request, timeout=TIMEOUT_S).baselines
        return {entry.task_hash: entry.mean for entry in found if entry.HasField("mean")}


def _body(task: Any) -> dict[str, Any]:
    return {"environment": task.environment, "params": json.loads(task.params_json or "{}"), "seed": task.seed,
            "item": json.loads(task.item_json) if task.item_json else None}
