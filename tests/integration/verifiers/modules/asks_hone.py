"""Stored graders as seen by the packages: `python asks_hone.py URL KEY` prints JSON."""

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

import verifiers.v1 as vf
from sums import SumData, SumTask
from verifiers.v1.tasksets.nemo_gym import NeMoGymData, NeMoGymTask, NeMoGymTaskConfig
from verifiers.v1.tasksets.nemo_gym.toolset import NeMoGymState

from hone.client import Client
from hone.verifiers.stored import openenv_rubric, taskset_reward

URL, KEY = sys.argv[1:] or ("", "")
ROW = {"responses_create_params": {"input": "two and two?"}, "answer": "4"}
graded = taskset_reward(Client(URL, KEY), "sum")
failing = taskset_reward(Client(URL, KEY), "lost")


def trace(task: vf.Task[Any], state: vf.State, answer: str) -> vf.Trace[Any]:
    made: vf.Trace[Any] = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash), state=state,
        agent=vf.AgentInfo(config=vf.AgentConfig()))
    made.nodes = [vf.MessageNode(message=vf.UserMessage(content="two and two?")),
                  vf.MessageNode(parent=0, message=vf.AssistantMessage(content=answer), sampled=True)]
    return made


async def by_nemo_gym(name: str, answer: str) -> Any:
    """The package's own client of `/verify`."""
    task = NeMoGymTask(NeMoGymData(prompt="two and two?", row=ROW), NeMoGymTaskConfig(
        resources_url=f"{URL}/v1/graders/stored/{name}", headers={"Authorization": f"Bearer {KEY}"}))
    played = trace(task, NeMoGymState(), answer)
    await task.setup(played, None)  # type: ignore[arg-type]
    return await scored(task, played)


async def plugged(function: str, answer: str) -> Any:
    """A reward that a taskset's settings name."""
    config = SumTask.config_type().model_validate({"rewards": {"hone": {"fn": f"asks_hone:{function}", "weight": 2.0}}})
    task = SumTask(SumData(prompt="two and two?", answer="4"), config)
    return await scored(task, trace(task, vf.State(), answer))


async def scored(task: vf.Task[Any], played: vf.Trace[Any]) -> Any:
    try:
        await task.score(played)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return {name: one.value for name, one in played.rewards.items() if one}


async def openenv(name: str, answer: str) -> Any:
    rubric = openenv_rubric(Client(URL, KEY), name, lambda action: action.message)
    try:
        return await rubric(SimpleNamespace(message=answer), SimpleNamespace(metadata={"answer": "4"}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def main() -> None:
    print(json.dumps({
        "nemo_gym": [await by_nemo_gym("sum", answer) for answer in ("It is 4", "It is 5")],
        "plugged": await plugged("graded", "It is 4"),
        "openenv": [await openenv("sum", answer) for answer in ("It is 4", "It is 5")],
        "failed": [await by_nemo_gym("lost", "4"), await plugged("failing", "4"), await openenv("lost", "4")]}))


if __name__ == "__main__":
    asyncio.run(main())
