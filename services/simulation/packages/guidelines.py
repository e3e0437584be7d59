"""Searches a guideline for noise: a target acts in an environment, and four models of the tenant's take part."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hone.environments.contract import Episode, Message, Row, WrongParams
from hone.environments.noise.evolution import Agents, Deviation, Evolution, Refusal, ResultScene
from hone.environments.noise.noisy import result_place
from hone.environments.packages.calling import Runner
from hone.environments.synthesis.author import UnreadAnswer, answered
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.trail import Trail
from hone.environments.tasks import maker
from hone.graders.deviation import DeviationSigns, compared
from hone.graders.questions import Reply
from hone.judges.asking import AskedJudges
from hone.process.line import Turn
from hone.spec.guidelines import AgentSpec, GuidelineSpec
from hone.spec.roles import AuthorSpec
from services.simulation.packages.trials import actions, answer_of, spoken
from services.simulation.packages.workshop import Workshop

_MOST_CALLS = 8
"""Answers of the target in one task, until a result comes that may have noise."""
_TRIES = 4
"""Tasks that are begun at most for each that is wanted."""


class GuidelineSearch:
    """Make it on the running loop; `made` is called in another thread. The `author` is the optimiser."""

    def __init__(
        self, judges: AskedJudges, sandbox: Runner, author: AuthorSpec, optimiser: Workshop, spec: GuidelineSpec,
        turn: Turn, seed: int, trail: Trail,
    ) -> None:
        self._spec, self._seed, self._trail = spec, seed, trail
        self._target = Workshop(judges, sandbox, spec.target, turn)
        self._noiser = Workshop(judges, sandbox, spec.noiser or author, turn)
        judge = spec.judge or AgentSpec(model=author.model, endpoint=author.endpoint)
        self._judge = Workshop(judges, sandbox, judge, turn)
        self.workshops = (self._target, self._noiser, self._judge)
        agents = Agents(self._said, self._noise, optimiser, self._verdict)
        self._evolution = Evolution(agents, spec.type, spec.rounds, seed, trail)

    def made(self, hint: str, wanted: int) -> list[Row]:
        """Return the guideline as the one row. Raises NoWorld, with what was tried, ModelAway and Stopped."""
        scenes = list[ResultScene]()
        for task in range(self._seed, self._seed + _TRIES * wanted):
            self._trail.at("scenes", len(scenes), wanted)
            if len(scenes) < wanted and (one := self._scene(task)) is not None:
                scenes.append(one)
        if not scenes:
            raise NoWorld(f"in none of {_TRIES * wanted} tasks did the target get a result of a tool that may have "
                          "noise, and answer behind it")
        return [{**self._evolution.evolve(hint, scenes), "target": self._spec.target.named}]

    def as_json(self) -> Mapping[str, Any]:
        """Return the rounds so far."""
        return self._evolution.as_json()

    def _scene(self, task: int) -> ResultScene | None:
        """Return the first result in a task that may have noise, and what the target says behind it; None: none."""
        try:
            world = maker(self._spec.environment, self._spec.params).episode(task, None)
            return self._played(world, task)
        except WrongParams as wrong:
            raise NoWorld(f"the environment has no such task: {wrong}") from wrong
        except Refusal as refusal:
            self._trail.refused(f"scene {task}", str(refusal))
            return None

    def _played(self, world: Episode, task: int) -> ResultScene | None:
        seen = world.reset()
        said, tools = list[Message](seen.messages), seen.tools or []
        for _ in range(_MOST_CALLS):
            reply = self._reply(said, tools)
            said.append(spoken(reply))
            done = actions(reply)
            for number, action in enumerate(done):
                taken = world.step(action)
                if taken.done:
                    return None
                before = tuple(said)
                said += [answer_of(reply, number, message) for message in taken.observation.messages]
                if len(done) == 1 and result_place(taken, self._spec.type) == len(said) - len(before) - 1:
                    return ResultScene(task, tuple(said[:-1]), tuple(tools), action, said[-1], self._said(said, tools))
        return None

    def _reply(self, said: Sequence[Message], tools: Sequence[Message]) -> Reply:
        """Return the target's answer. Raises Refusal, ModelAway and Stopped."""
        try:
            return self._target.reply(said, self._seed, tools)
        except UnreadAnswer as refused:
            raise Refusal(str(refused)) from refused

    def _said(self, said: Sequence[Message], tools: Sequence[Message]) -> str:
        reply = self._reply(said, tools)
        return "\n".join(filter(None, [reply.text, *(json.dumps(call.get("function")) for call in reply.tool_calls)]))

    def _noise(self, messages: Sequence[Message]) -> str:
        try:
            return self._noiser.reply(messages, self._seed).text
        except UnreadAnswer as refused:
            raise Refusal(str(refused)) from refused

    def _verdict(self, scene: ResultScene, injected: str, message: str) -> Deviation:
        question = compared(scene.result, injected, message, scene.expected)
        found = answered(self._trail, f"verdict of scene {scene.task}", DeviationSigns, lambda _: self._judge(
            question, self._seed))
        return Deviation(found.deviates, bool(found.refuses))
