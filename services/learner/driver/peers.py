"""Clients of the services that the driver calls: tasks from simulation, budgets and baselines from value."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2, value_pb2, value_pb2_grpc
from hone.environments.messages import from_proto
from hone.rpc.client import TIMEOUT_S, blocking_channel
from hone.spec.run import Slot, TaskSource
from hone.spec.settings import Settings
from hone.text.conversation import prompt_text

_SPLITS = {"TRAIN": simulation_pb2.SPLIT_TRAIN, "HELD_OUT": simulation_pb2.SPLIT_HELD_OUT}


@dataclass(frozen=True)
class Task:
    """A task as a group row stores it, its content hash, and the name of its source, "" where the task is no mixture.

    `sampled` is what a manifest says of it, by name; None where it was drawn without one.
    """

    body: dict[str, Any]
    content_hash: str
    source: str = ""
    sampled: Mapping[str, float] | None = None


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
        bounds: tuple[float, float], predictions: Sequence[float] = (),
    ) -> value_pb2.AllocateRolloutsResponse:
        """Return how many rollouts each task gets, by the outcomes of the steps from the first to before the second.

        `bounds` are the smallest and the largest score of the run's grader. `predictions` are chances of success.
        """
        request = value_pb2.AllocateRolloutsRequest(
            run_id=run_id, method=slot.name, params_json=json.dumps(slot.params), task_hashes=task_hashes,
            budget=budget, since_step=steps[0], before_step=steps[1], lowest=bounds[0], highest=bounds[1],
            predictions=predictions)
        return self._value.AllocateRollouts(request, timeout=TIMEOUT_S)

    def predict(
        self, run_id: str, tasks: Sequence[Task], steps: tuple[int, int], bounds: tuple[float, float]
    ) -> value_pb2.PredictResponse:
        """Return how likely the policy succeeds in each task, by the outcomes of the steps from the first to before the
        second.
        """
        texts = self._texts(tasks)
        return self._value.Predict(value_pb2.PredictRequest(
            run_id=run_id, since_step=steps[0], before_step=steps[1], lowest=bounds[0], highest=bounds[1], prompts=[
                value_pb2.Prompt(task_hash=task.content_hash, text=text)
                for task, text in zip(tasks, texts, strict=True)]), timeout=TIMEOUT_S)

    def _texts(self, tasks: Sequence[Task]) -> list[str]:
        """Return the first observation of each task, from a session of it that is closed again."""
        request = simulation_pb2.ResetRequest(tasks=[_message(task) for task in tasks])
        sessions = self._simulation.Reset(request, timeout=TIMEOUT_S).sessions
        self._simulation.Close(simulation_pb2.CloseRequest(
            session_ids=[session.session_id for session in sessions]), timeout=TIMEOUT_S)
        return [prompt_text(from_proto(session.observation.messages)) for session in sessions]

    def baselines(
        self, run_id: str, task_hashes: Sequence[str], since_step: int, before_step: int
    ) -> dict[str, float]:
        """Return the mean outcome of each task over the steps from `since_step` to before `before_step`, if it has any.
        """
        request = value_pb2.BaselineRequest(
            run_id=run_id, task_hashes=task_hashes, since_step=since_step, before_step=before_step)
        found = self._value.Baseline(request, timeout=TIMEOUT_S).baselines
        return {entry.task_hash: entry.mean for entry in found if entry.HasField("mean")}


def _message(task: Task) -> trajectory_pb2.Task:
    body = task.body
    return trajectory_pb2.Task(
        environment=body["environment"], params_json=json.dumps(body["params"]), seed=body["seed"],
        item_json="" if body["item"] is None else json.dumps(body["item"]), content_hash=task.content_hash)


def _body(task: Any) -> dict[str, Any]:
    return {"environment": task.environment, "params": json.loads(task.params_json or "{}"), "seed": task.seed,
            "item": json.loads(task.item_json) if task.item_json else None}
