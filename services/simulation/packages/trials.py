"""A model tries the tasks of a package before they are kept, with all tools and with half of them hidden."""

import asyncio
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from hone.environments.packages.calling import Runner
from hone.environments.packages.episode import PackageEpisode
from hone.environments.packages.package import Package, PackageTask
from hone.environments.synthesis.trail import Trail
from hone.environments.synthesis.trials import Trial, hidden
from hone.environments.tools import ToolCall
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Question, Reply
from hone.judges.asking import AskedJudges
from hone.process.line import StillWaiting, Turn
from hone.spec.roles import TrialSpec
from services.simulation.packages.workshop import ModelAway

Message = Mapping[str, Any]


class TrialPlay:
    """Plays tasks with a model of the tenant's."""

    def __init__(self, judges: AskedJudges, sandbox: Runner, spec: TrialSpec, turn: Turn, seed: int) -> None:
        self._judges, self._sandbox, self._spec, self._turn, self._seed = judges, sandbox, spec, turn, seed

    @property
    def name(self) -> str:
        """Who plays."""
        return self._spec.named

    async def trials(self, package: Package, trail: Trail) -> dict[str, Trial]:
        """Return the result of each task, by its id. Raises ModelAway and EpisodeLost."""
        found = dict[str, Trial]()
        for place, task in enumerate(package.tasks):
            trail.at("trials", place, len(package.tasks))
            found[task.id] = await self._trial(package, task)
        trail.at("trials", len(found), len(found))
        return found

    async def _trial(self, package: Package, task: PackageTask) -> Trial:
        rollouts = range(self._spec.rollouts)
        seeds = [f"{self._seed}/{task.id}/{arm}/{rollout}" for arm in ("strong", "weak") for rollout in rollouts]
        async with asyncio.TaskGroup() as group:
            playing = [group.create_task(self._played(
                package, task, hidden(package, task, seed) if "/weak/" in seed else frozenset(), seed))
                for seed in seeds]
        solved = [one.result() for one in playing]
        count = len(rollouts)
        return Trial(sum(solved[:count]) / count, sum(solved[count:]) / count)

    async def _played(self, package: Package, task: PackageTask, unseen: frozenset[str], seed: str) -> bool:
        """Return whether an episode succeeds. A model that refuses to go on has not solved it."""
        episode = PackageEpisode(package, task, self._sandbox, self._spec.turns, hidden=unseen)
        seen = episode.reset()
        said = list[Message](seen.messages)
        for turn in range(self._spec.turns):
            reply = await self._reply(said, seen.tools or [], f"{seed}/{turn}")
            if reply is None:
                return False
            said.append(spoken(reply))
            for number, action in enumerate(actions(reply)):
                taken = await asyncio.to_thread(episode.step, action)
                if taken.done:
                    return episode.verify() == 1.0
                said += [answer_of(reply, number, message) for message in taken.observation.messages]
        return False

    async def _reply(self, said: Sequence[Message], tools: Sequence[Message], seed: str) -> Reply | None:
        """Return a model's answer; None where it refuses the question for good. Raises ModelAway."""
        question = Question(self._spec.named, list(said), self._spec.max_tokens, self._spec.temperature,
                            seed=zlib.crc32(seed.encode()) % 2**31, tools=tools)
        while True:  # until the job's deadline
            try:
                return await self._judges.ask(question, self._turn)
            except StillWaiting:
                continue
            except JudgeFailed as failed:
                if failed.kind == ErrorKind.MODEL_REFUSAL:
                    return None
                why = str(failed).removeprefix(f"{failed.kind}: ")
                raise ModelAway(f"{question.judge} gave no answer: {why}") from failed


def spoken(reply: Reply) -> dict[str, Any]:
    """Return a model's answer as a message of a conversation."""
    calls = [{"id": _id(reply, number), "type": "function", "function": call.get("function")}
             for number, call in enumerate(reply.tool_calls)]
    return {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}


def _id(reply: Reply, number: int) -> str:
    return str(reply.tool_calls[number].get("id") or f"call_{number}")


def answer_of(reply: Reply, number: int, message: Message) -> dict[str, Any]:
    """Return the environment's answer to a reply's call of this number, as a message of a conversation."""
    return {**message, "tool_call_id": _id(reply, number)} if reply.tool_calls else {**message, "role": "user"}


def actions(reply: Reply) -> list[str]:
    """Return the move of a model: its calls, or its answer."""
    return [_call(call).action() for call in reply.tool_calls] or [reply.text]


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call.get("function")
    given = function if isinstance(function, dict) else {}
    try:
        arguments = json.loads(given.get("arguments") or "{}")
    except (TypeError, ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict) or not isinstance(given.get("name"), str):
        return ToolCall(None, {"text": str(call)[:200]})
    return ToolCall(given["name"], arguments)
