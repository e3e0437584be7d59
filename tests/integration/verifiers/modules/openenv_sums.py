"""Rubrics of OpenEnv: a tree with a gate, and a judge whose verdict cannot be read."""

from typing import Any

from openenv.core.llm_client import LLMClient, LLMResponse
from openenv.core.rubrics import Gate, LLMJudge, Rubric, Sequential, WeightedSum


class Right(Rubric):
    """The last word is the row's answer."""

    def forward(self, action: Any, observation: Any) -> float:
        if "RAISE" in action.message:
            raise RuntimeError("the rubric's own defect")
        return float(str(action).split()[-1] == observation.answer)


class Brief(Rubric):
    """The answer is short, and the observation is a whole one."""

    async def forward(self, action: Any, observation: Any) -> float:
        return float(len(action.text) < 10 and observation.done and observation.metadata["answer"] == "4")


class Tree(Sequential):
    """Nothing without a right answer; then three quarters for it, and a quarter for a brief one."""

    def __init__(self) -> None:
        super().__init__(Gate(Right()), WeightedSum([Right(), Brief()], [0.75, 0.25]))


class Mumbling(LLMClient):
    """A model that gives no number."""

    def __init__(self) -> None:
        super().__init__("http://judge", 1)

    async def complete(self, prompt: str, **_: Any) -> str:
        return "good" if prompt else ""

    async def complete_with_tools(self, messages: Any, tools: Any, **_: Any) -> LLMResponse:
        raise NotImplementedError


def judged() -> Rubric:
    return Gate(LLMJudge("{action}", Mumbling()), threshold=0.5)
