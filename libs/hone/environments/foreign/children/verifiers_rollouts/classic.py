"""Environments of `verifiers` in its classic interface (`load_environment`), which versions before 0.4 have."""

import functools
import inspect
import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from .conversation import Conversation, Message, Refused, function, plain

RAISED: ContextVar[list[Exception]] = ContextVar("raised")


class Classic:
    """An environment. What its reward functions raise is noted."""

    def __init__(self, package: str, arguments: Message) -> None:
        import verifiers.legacy as vf
        self._environment = vf.load_environment(package, **arguments)
        if self._environment.requires_group_rollouts:
            raise Refused("a reward function compares the answers of a group, and a rollout is one")
        for rubric in _rubrics(self._environment.rubric):
            rubric.funcs = [_watched(one) for one in rubric.funcs]
        self._rows = self._environment.get_dataset()

    @property
    def rows(self) -> int:
        return len(self._rows)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        yield

    async def play(self, row: int, conversation: Conversation) -> Message:
        """Return the result of a rollout."""
        raised: list[Exception] = []
        RAISED.set(raised)
        state = await self._environment.rollout(dict(self._rows[row]), _policy(conversation), "policy", {})
        if state["error"] is not None:
            raise state["error"].__cause__ or state["error"]
        await self._environment.rubric.score_rollout(state)
        if raised:
            raise raised[0]  # the package itself would count 0
        metrics = {name: value for name, value in (state["metrics"] or {}).items() if isinstance(value, (int, float))}
        return {"done": True, "messages": _last(state), "reward": state["reward"], "metrics": metrics}


def _rubrics(rubric: Any) -> Iterator[Any]:
    inside = getattr(rubric, "rubrics", None)
    if not inside:
        yield rubric
    for one in inside or []:
        yield from _rubrics(one)


def _watched(scoring: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that notes what it raises, with the signature of the first one."""
    @functools.wraps(scoring)
    async def watched(*args: Any, **given: Any) -> Any:
        try:
            result = scoring(*args, **given)
            return await result if inspect.isawaitable(result) else result
        except Exception as error:
            RAISED.get().append(error)
            raise
    return watched


def _policy(conversation: Conversation) -> Any:
    """Return a model of the package that is elsewhere."""
    from verifiers.legacy.clients import Client
    from verifiers.legacy.types import Response, ResponseMessage, ToolCall

    class Policy(Client):  # type: ignore[misc]
        async def get_response(
            self, prompt: Any, model: str, sampling_args: Any, tools: Any = None, **given: Any,
        ) -> Any:
            answer, calls = await conversation.asked(
                prompt, [function(one.name, one.description, one.parameters) for one in tools or []]), None
            if "tool" in answer:
                calls = [ToolCall(id=f"call_{len(prompt)}", name=answer["tool"],
                                  arguments=json.dumps(answer["arguments"]))]
            message = ResponseMessage(content=answer.get("text", ""), tool_calls=calls, is_truncated=False,
                                      finish_reason="tool_calls" if calls else "stop")
            conversation.said(message)
            return Response(id=uuid.uuid4().hex, created=0, model="policy", message=message)

        setup_client = to_native_tool = to_native_prompt = get_native_response = None
        raise_from_native_response = from_native_response = close = None

    return Policy(None)


def _last(state: Any) -> list[Message]:
    """Return the environment's words after the last answer."""
    said = state.get("final_env_response") or []
    return [plain(one) for one in ([{"role": "user", "content": said}] if isinstance(said, str) else said)]
