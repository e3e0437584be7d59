"""A taskset of `verifiers` 0.4 with an agent of its own: a program that does what its task says."""

import os
import sys
import time
from collections.abc import Iterable
from typing import Any

import verifiers.v1 as vf

__all__ = ["OddHarness", "OddTaskset"]
PROGRAM = """
import json, os, sys, time, urllib.request
endpoint, key, order = sys.argv[1:]

def ask(said):
    body = json.dumps({"model": "m", "messages": said}).encode()
    request = urllib.request.Request(endpoint + "/chat/completions", body, {
        "Authorization": "Bearer " + key, "Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answered:
        return json.load(answered)["choices"][0]["message"]

def crowd():
    mine = os.path.join(os.environ["WORLD_FOLDER"], f"starts-{os.getpid()}")
    open(mine, "w").close()
    time.sleep(0.7)
    found = [name for name in os.listdir(os.environ["WORLD_FOLDER"]) if name.startswith("starts-")]
    os.remove(mine)
    return str(len(found))

shown = {"stall": lambda: f"{order} {os.getpid()}", "crowd": crowd}.get(order, lambda: order)()
first = [{"role": "user", "content": shown}]
heard = ask(first)
if order == "die":
    sys.exit("the agent's own defect")
if order == "stall":
    time.sleep(600)
if order == "forget":
    try:
        ask([{"role": "user", "content": "another thread"}])
    except Exception:
        pass  # an agent may well go on without
if order == "picture":
    ask([*first, heard, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}])
if order == "go on":
    ask([*first, heard, {"role": "user", "content": [{"type": "text", "text": "and?"}]}])
"""


class OddTask(vf.Task[vf.TaskData]):
    """Two answers are right."""

    @vf.reward
    async def done(self, task: vf.TaskData, trace: vf.Trace) -> float:
        if task.prompt == "hang":
            time.sleep(600)
        return trace.num_turns / 2


class OddHarness(vf.Harness[vf.HarnessConfig]):
    """Runs the program beside the package."""

    NEEDS_CONTAINER = False

    async def launch(self, *given: Any) -> vf.ProgramResult:
        _, _, runtime, endpoint, secret, _, data = given
        return await runtime.run_program([sys.executable, "-c", PROGRAM, endpoint, secret, str(data.prompt)], {})


class OddTaskset(vf.Taskset[OddTask, vf.TasksetConfig]):
    """A task for each order, and one that wants a container."""

    def load(self) -> Iterable[OddTask]:
        for order in os.environ["ORDERS"].split(","):
            yield OddTask(vf.TaskData(prompt=order), self.config.task)
        yield OddTask(vf.TaskData(prompt="go on", image="python:3.11"), self.config.task)
