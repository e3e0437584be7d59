"""A taskset whose second reward reads what an agent left in its box. `verifiers` skips it where there is no box."""

from collections.abc import Iterable

import verifiers.v1 as vf

__all__ = ["BoxedTaskset"]


class BoxedTask(vf.Task[vf.TaskData]):
    """One reward of two needs a runtime."""

    @vf.reward
    async def said(self, trace: vf.Trace) -> float:
        return float(bool(trace.last_reply))

    @vf.reward
    async def left(self, runtime: vf.Runtime) -> float:
        return float(bool(await runtime.read("answer.txt")))


class BoxedTaskset(vf.Taskset[BoxedTask]):
    """One task."""

    def load(self) -> Iterable[BoxedTask]:
        yield BoxedTask(vf.TaskData(prompt="?"), self.config.task)
