"""Tasksets of `verifiers` from 0.4 on: the agent is a program in a runtime, which asks an endpoint of OpenAI's kind.

The package serves that endpoint itself, on loopback, and has a client of a model behind it: here that client is the
policy. Tasks, agents, tools, hooks and rewards are the package's own.
"""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from .conversation import Conversation, Failed, Message, Refused, function
from .scripts import PLAYED, run_scripts_here, start_few_at_once

_NO_LIMIT_S = 1e9  # the package's time for an agent would count the policy's, which waits for others


class Tasks:
    """The tasks of a taskset, and the environment that plays them."""

    def __init__(self, package: str, arguments: Message) -> None:
        """`arguments`: the package's own `[env]` block, and its `select`."""
        from verifiers.v1.configs.select import SelectConfig
        from verifiers.v1.utils.loaders import load_environment, resolve_env_config

        block = {name: value for name, value in arguments.items() if name != "select"}
        config = resolve_env_config({**block, "taskset": {"id": package, **block.get("taskset", {})}})
        self._seat = _seated(config)
        self._environment = load_environment(config)
        tasks = self._environment.taskset.select(SelectConfig.model_validate(arguments.get("select", {})))
        if not tasks.bounded:
            raise Refused("its tasks have no end: arguments.select.limit says how many there are")
        self._tasks = list(tasks)
        if not self._tasks:
            raise Refused("it has no tasks")
        self._conversations: dict[str, Conversation] = {}
        run_scripts_here()
        start_few_at_once()
        self._context = _context(self._conversations)

    @property
    def rows(self) -> int:
        return len(self._tasks)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Hold the package's endpoint, and the tools that all tasks share."""
        async with self._environment.serving():
            yield

    async def play(self, row: int, conversation: Conversation) -> Message:
        """Return the result of an episode."""
        mine: list[Any] = []

        def begun(trace: Any) -> None:
            if trace.agent.name == self._seat:
                mine.append(trace)
                self._conversations[trace.id] = conversation

        PLAYED.set(conversation)
        try:
            episode = await self._environment.run_episode(self._tasks[row], self._context, on_trace=begun)
        finally:
            conversation.end_turn()
            for trace in mine:
                self._conversations.pop(trace.id, None)
        if conversation.refused is not None:
            raise conversation.refused
        return _scored(episode, self._seat)


def _scored(episode: Any, seat: str) -> Message:
    """Return the reward of the policy's trace. Raises Failed where a part of it is missing."""
    errors = [*episode.errors, *(error for trace in episode.traces for error in trace.errors if not trace.ok)]
    if errors or not episode.ok:
        raise Failed("; ".join(f"{one.type}: {one.message}" for one in errors) or "the episode failed")
    [trace] = [one for one in episode.traces if one.agent.name == seat]
    late = [one.stop_condition for one in episode.traces if one.is_timeout]
    lacking = [name for name, reward in trace.rewards.items() if reward is None]
    if late or lacking:
        raise Failed(f"no whole reward: {', '.join([*late, *lacking])}")
    scores = {name: one.score for name, one in trace.rewards.items()}
    metrics = {name: value for name, value in trace.metrics.items() if value is not None}
    return {"done": True, "messages": [], "reward": trace.reward if scores else None, "metrics": {**metrics, **scores}}


def _seated(config: Any) -> str:
    """Return the name of the agent that the policy is, and give agents their runtimes. Raises Refused."""
    from verifiers.v1.configs.agent import agent_config_fields

    agents: dict[str, Any] = agent_config_fields(config)
    mine = [name for name, agent in agents.items() if agent.client is None]
    if len(mine) != 1:
        raise Refused(f"the policy is one agent of {', '.join(agents)}: arguments.NAME.client and model of the others "
                      "say what model they are")
    for name, agent in agents.items():
        _settle(name, agent, config.agent_harnesses()[name])
    agents[mine[0]].timeout.rollout = agents[mine[0]].timeout.rollout or _NO_LIMIT_S
    return mine[0]


def _settle(name: str, agent: Any, harness: Any) -> None:
    """Run an agent beside this program where nothing says otherwise: the package would rent a machine elsewhere."""
    from verifiers.v1.runtimes import SubprocessConfig
    from verifiers.v1.utils.loaders import harness_class

    if "runtime" in agent.model_fields_set:
        return
    if harness_class(harness.id).EXECUTES_CODE:
        raise Refused(f"the agent {name} has the harness {harness.id}, which gives its model a shell or a program of "
                      f"its own: arguments.{name}.runtime.type says where it runs (subprocess: as this user), or "
                      f"arguments.{name}.harness.id names another, such as null")
    agent.runtime = SubprocessConfig()


def _context(conversations: dict[str, Conversation]) -> Any:
    """Return a model of the package that is elsewhere, for `conversations` by the ids of their traces."""
    from verifiers.v1.clients import Client, ModelContext, TrainClientConfig
    from verifiers.v1.clients.train import serialize_completion
    from verifiers.v1.dialects import ChatDialect
    from verifiers.v1.errors import ProviderError
    from verifiers.v1.interception import server
    from verifiers.v1.types import AssistantMessage, Response, ToolCall

    class PolicyModel(Client):  # type: ignore[misc]
        async def get_response(
            self, dialect: Any, body: Any, sampling: Any, session_id: str = "", turn: Any = None, headers: Any = None,
        ) -> Any:
            conversation = conversations[session_id]
            try:
                if not isinstance(dialect, ChatDialect):
                    raise conversation.refuse("its agent asks by another interface than chat completions")
                answer = await conversation.asked(turn.prompt, [_tool(one, conversation) for one in turn.tools or []])
            except Refused as refused:
                raise ProviderError(str(refused), status_code=400) from refused
            message = _message(answer, len(turn.prompt))
            conversation.said(message)
            response = Response(id=f"{session_id}-{len(turn.prompt)}", created=int(time.time()), model="policy",
                                message=message, finish_reason="tool_calls" if message.tool_calls else "stop")
            response.raw = serialize_completion(response, "policy")
            return response

    def _message(answer: Message, place: int) -> Any:
        calls = [ToolCall(id=f"call_{place}", name=answer["tool"], arguments=json.dumps(answer["arguments"]))
                 ] if "tool" in answer else None
        return AssistantMessage(content=answer.get("text", ""), tool_calls=calls)

    ours = TrainClientConfig(base_url="http://127.0.0.1:9/v1", api_key_var="NO_KEY")  # is never called
    policy, resolved = PolicyModel(), server.resolve_client
    server.resolve_client = lambda config: policy if config == ours else resolved(config)
    return ModelContext(model="policy", client=ours)


def _tool(tool: Any, conversation: Conversation) -> Message:
    if tool.type != "function" or tool.namespace:
        raise conversation.refuse(f"its tool {tool.name} is no function")
    return function(tool.name, tool.description, tool.parameters)
