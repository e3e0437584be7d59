"""An environment of `verifiers` in its classic interface that takes several turns: guess a number, with a tool."""

import json
import os
from typing import Any

import verifiers.legacy as vf
from datasets import Dataset
from verifiers.legacy.types import Tool, ToolMessage


class Guess(vf.MultiTurnEnv):
    async def env_response(self, messages: Any, state: Any) -> Any:
        if calls := messages[-1].tool_calls:
            given = json.loads(calls[0].arguments)
            return [ToolMessage(content=str(given["a"] + given["b"]), tool_call_id=calls[0].id)]
        said = str(messages[-1].content).strip()
        if said == "DIE":
            os._exit(3)
        if said == "SECRETS":
            return [{"role": "user", "content": " ".join(name for name in os.environ if name.startswith("HONE"))}]
        if said == state["answer"]:
            state["final_env_response"] = [{"role": "user", "content": "right"}]
            return state["final_env_response"]
        return [{"role": "user", "content": "more" if said < state["answer"] else "less"}]


def right(state: Any) -> float:
    said = [str(message.content) for message in state["completion"]]
    if "RAISE" in said:
        raise RuntimeError("the function's own defect")
    return float(state["answer"] in said)


def load_environment() -> vf.Environment:
    rows = Dataset.from_list([{"question": f"a number like {n}?", "answer": str(n)} for n in range(3, 6)])
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    return Guess(dataset=rows, rubric=vf.Rubric(funcs=[right]), max_turns=4,
                 tool_defs=[Tool(name="add", description="Add two numbers.", parameters=parameters)])
