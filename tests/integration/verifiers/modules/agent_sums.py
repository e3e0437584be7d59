"""Tasks of `verifiers` 0.4 for its own chat loop: sums, with a tool server that all tasks share."""

from collections.abc import Iterable

import verifiers.v1 as vf

__all__ = ["SumsTaskset"]


class SumData(vf.TaskData):
    """A sum and its result."""

    answer: str


class SumTask(vf.Task[SumData]):
    """A right answer is rewarded, and a brief one a little."""

    @vf.reward
    async def right(self, task: SumData, trace: vf.Trace) -> float:
        if "RAISE" in trace.last_reply:
            raise RuntimeError("the reward's own defect")
        return float(trace.last_reply.split()[-1] == task.answer)

    @vf.reward(weight=0.5)
    async def brief(self, trace: vf.Trace) -> float:
        return float("nan") if "NAN" in trace.last_reply else float(len(trace.last_reply) < 10)

    @vf.metric
    async def turns(self, trace: vf.Trace) -> float:
        return float(trace.num_turns)


class Calculator(vf.Toolset[vf.SharedToolsetConfig]):
    """Adds."""

    @vf.tool
    async def add(self, a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)


class SumsTaskset(vf.Taskset[SumTask, vf.TasksetConfig]):
    """Three tasks."""

    def load(self) -> Iterable[SumTask]:
        for number in (1, 2, 3):
            yield SumTask(SumData(prompt=f"{number} and {number}?", system_prompt="Be brief.", answer=str(2 * number)),
                          self.config.task)

    @classmethod
    def toolsets(cls, _: vf.TasksetConfig) -> list[vf.Toolset]:
        return [Calculator(vf.SharedToolsetConfig())]


if __name__ == "__main__":
    Calculator.run()
