"""A taskset of `verifiers` whose reward is that of an exact answer."""

from collections.abc import Iterable

import verifiers.v1 as vf

__all__ = ["CopiedTaskset"]


class CopiedData(vf.TaskData):
    """A right answer."""

    answer: str


class CopiedTask(vf.Task[CopiedData]):
    """The whole answer is right."""

    @vf.reward
    async def copied(self, task: CopiedData, trace: vf.Trace) -> float:
        return float(trace.last_reply == task.answer)


class CopiedTaskset(vf.Taskset[CopiedTask]):
    """Its tasks come from elsewhere."""

    def load(self) -> Iterable[CopiedTask]:
        return []
