"""An environment of `verifiers` in its classic interface, with a rubric of two functions and a metric."""

from typing import Any

import verifiers as vf
from datasets import Dataset


def right(completion: Any, answer: str, parser: Any) -> float:
    text = parser.parse_answer(completion)
    if "RAISE" in text:
        raise RuntimeError("the function's own defect")
    return float(text.split()[-1] == answer)


async def fitting(prompt: Any, info: dict[str, Any], **given: Any) -> float:
    return float(prompt[-1]["content"] == info["asked"] and given["state"]["completion"][0].role == "assistant")


def turns(state: Any) -> float:
    return float(state["what a metric reads changes no reward"])


def together(completions: list[Any]) -> list[float]:
    return [0.0] * len(completions)


def load_environment(weight: float = 0.5, group: bool = False) -> vf.Environment:
    rubric = vf.Rubric(funcs=[right, fitting], weights=[1.0, weight])
    rubric.add_metric(turns)
    if group:
        rubric.add_reward_func(together)
    rows = Dataset.from_list([{"question": "two and two?", "answer": "4"}])
    return vf.SingleTurnEnv(dataset=rows, rubric=rubric)
