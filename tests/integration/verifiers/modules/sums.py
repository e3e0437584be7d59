"""A taskset of `verifiers` 0.4: sums, with two rewards and one that fails where the answer says so."""

from collections.abc import Iterable

import verifiers.v1 as vf

__all__ = ["SumsTaskset"]


class SumData(vf.TaskData):
    """A sum and its result."""

    answer: str


class SumTask(vf.Task[SumData]):
    """Right and brief answers are rewarded."""

    @vf.reward(weight=1.0)
    async def right(self, task: SumData, trace: vf.Trace) -> float:
        if "RAISE" in trace.last_reply:
            raise RuntimeError("the reward's own defect")
        return float(trace.last_reply.split()[-1] == task.answer)

    @vf.reward(weight=0.5)
    async def brief(self, trace: vf.Trace) -> float:
        return float("nan") if "NAN" in trace.last_reply else float(len(trace.last_reply) < 10)


class SumsTaskset(vf.Taskset[SumTask]):
    """Two tasks."""

    def load(self) -> Iterable[SumTask]:
        for number in (1, 2):
            yield SumTask(SumData(prompt=f"{number} and {number}?", answer=str(2 * number)), self.config.task)
