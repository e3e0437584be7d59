"""Tasksets of the package `verifiers` (its v1 interface, 0.4): the rewards of a task, for an answer that was given.

A row is the data of a task, so a submission has its fields. Nothing runs: a taskset whose tasks need a runtime cannot
be served, because their rewards read what is left there.
"""

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pydantic import ValidationError

from hone.spec.problems import Invalid, from_validation
from hone.verifiers.contract import Scores, Submitted, Unscored, Unservable

_INHERITED = ("setup", "finalize")


class TasksetVerifier:
    """The rewards of a taskset, by its id. `settings` are those of the taskset, such as its `task.judges`."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        """Load the taskset's package. Raises Unservable."""
        self._vf = import_module("verifiers.v1")
        try:
            self._config = self._vf.taskset_config_type(name).model_validate({**settings, "id": name}).task
            self._kind = self._vf.task_type(name)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise Unservable(f"{name} is no taskset of verifiers: {error}") from error
        self._expect_no_runtime()

    async def scores(self, submitted: Submitted) -> Scores:
        """Return the weighted sum of the task's rewards, and each of them. Raises Invalid and Unscored."""
        task = self._kind(self._data(submitted), self._config)
        trace = self._trace(task, submitted)
        try:
            await task.score(trace)
        except Exception as error:
            raise Unscored(f"{type(error).__name__}: {error}") from error
        if lacking := sorted(name for name, reward in trace.rewards.items() if reward is None):
            raise Unscored(f"no score by {', '.join(lacking)}")
        if not trace.rewards:
            raise Unscored("the task gave no reward at all")
        return Scores(float(trace.reward), {name: float(one.score) for name, one in trace.rewards.items()})

    def _expect_no_runtime(self) -> None:
        """Raise Unservable for a task without rewards, or with one that a submission is not enough for.

        The package itself skips a reward that needs a runtime where there is none, and adds up the others.
        """
        task = self._kind(self._kind.data_type().model_construct(), self._config)
        hooks = [*task.hooks("reward"), *(judge.score for judge in task.plugged_judges())]
        if not hooks:
            raise Unservable(f"{self._kind.__name__} has no rewards")
        for hook in hooks:
            runtime = inspect.signature(hook).parameters.get("runtime")
            if runtime is not None and runtime.default is inspect.Parameter.empty:
                raise Unservable(f"{hook.__qualname__} reads a runtime, which no submission holds")
        for name in _INHERITED:
            if getattr(self._kind, name) is not getattr(self._vf.Task, name):
                raise Unservable(f"{self._kind.__name__}.{name} works in a runtime, which no submission holds")

    def _data(self, submitted: Submitted) -> Any:
        """Return the row as the task's data. Raises Invalid with each field that is wrong."""
        kind = self._kind.data_type()
        given = {"prompt": submitted.messages, **{name: value for name, value in submitted.row.items()
                                                  if name in kind.model_fields or kind.model_config.get("extra")}}
        try:
            return kind.model_validate(given)
        except ValidationError as error:
            raise Invalid(from_validation(error, kind)) from error

    def _trace(self, task: Any, submitted: Submitted) -> Any:
        """Return a finished rollout: the messages, and the answer as what the model said."""
        vf, state = self._vf, import_module("verifiers.v1.state")
        kinds = {"system": vf.SystemMessage, "user": vf.UserMessage, "assistant": vf.AssistantMessage}
        said = [kinds[one["role"]](content=one["content"]) for one in submitted.messages]
        trace = vf.Trace(
            task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
            state=state.state_cls(type(task))(), agent=vf.AgentInfo(config=vf.AgentConfig(), trainable=False))
        for place, message in enumerate([*said, vf.AssistantMessage(content=submitted.answer)]):
            trace.nodes.append(vf.MessageNode(
                parent=place - 1 if place else None, message=message, sampled=place == len(said)))
        trace.ok = True
        trace.stop("agent_completed")
        return trace
