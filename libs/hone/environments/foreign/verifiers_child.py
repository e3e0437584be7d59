"""The program that plays rollouts of one environment of `verifiers` (classic interface, before 0.4).

It runs in the environment of that package, and imports nothing of Hone. A rollout is the package's own: its model is a
client here, which writes what it is asked as a line of JSON, and reads the answer. So single-turn, multi-turn and tool
environments are played as the package plays them, many beside each other.

    in:   {"package": …, "arguments": {…}, "memory_mb": 4096}
    out:  {"id": "", "rows": 120}, or {"id": "", "error": …}
    in:   {"id": "a", "row": 7}
    out:  {"id": "a", "asked": [messages that are new], "tools": […]}
    in:   {"id": "a", "text": …} or {"id": "a", "tool": …, "arguments": {…}}
    out:  …, at the end {"id": "a", "done": true, "messages": […], "reward": 0.5, "metrics": {…}}, or {…, "error": …}
    in:   {"id": "a", "leave": true}
"""

import asyncio
import functools
import inspect
import json
import os
import resource
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TextIO

Message = dict[str, Any]
RAISED: ContextVar[list[Exception]] = ContextVar("raised")
_FILE_BYTES, _LONGEST = 2**30, 1000


class Refused(Exception):
    """The environment cannot be played here."""


def main() -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the package prints is no line of ours
    threading.Thread(target=_ends_with_parent, args=(os.getppid(),), daemon=True).start()
    order = json.loads(sys.stdin.readline())
    _limit(order["memory_mb"])
    try:
        environment = _loaded(order)
        rows = environment.get_dataset()
        _write(out, "", {"rows": len(rows)})
    except Exception as error:
        _write(out, "", _failed(error))
        return
    asyncio.run(_serve(environment, rows, out))


def _write(out: TextIO, who: str, message: Message) -> None:
    print(json.dumps({"id": who, **message}), file=out)


def _failed(error: Exception) -> Message:
    return {"error": f"{type(error).__name__}: {error}"[:_LONGEST]}


def _ends_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _limit(memory_mb: int) -> None:
    for kind, most in ((resource.RLIMIT_AS, memory_mb * 2**20), (resource.RLIMIT_FSIZE, _FILE_BYTES),
                       (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))


def _loaded(order: Message) -> Any:
    """Return the environment. What its reward functions raise is noted from now on."""
    import verifiers.legacy as vf
    environment = vf.load_environment(order["package"], **order["arguments"])
    if environment.requires_group_rollouts:
        raise Refused("a reward function compares the answers of a group, and a rollout is one")
    for rubric in _rubrics(environment.rubric):
        rubric.funcs = [_watched(function) for function in rubric.funcs]
    return environment


async def _serve(environment: Any, rows: Any, out: TextIO) -> None:
    """Play until the input ends."""
    playing: dict[str, tuple[asyncio.Queue[Message], asyncio.Task[None]]] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        said = json.loads(line)
        who = said.pop("id")
        if "row" in said:
            answers: asyncio.Queue[Message] = asyncio.Queue()
            row = dict(rows[said["row"] % len(rows)])
            playing[who] = answers, asyncio.create_task(_play(environment, row, answers, who, out))
        elif who in playing and "leave" in said:
            playing.pop(who)[1].cancel()
        elif who in playing:
            playing[who][0].put_nowait(said)
    os._exit(0)


async def _play(
    environment: Any, row: Message, answers: asyncio.Queue[Message], who: str, out: TextIO,
) -> None:
    try:
        said = await _rollout(environment, row, _policy(answers, functools.partial(_write, out, who)))
    except Exception as error:
        said = _failed(error)
    _write(out, who, said)


async def _rollout(environment: Any, row: Message, policy: Any) -> Message:
    """Return what a rollout came to."""
    raised: list[Exception] = []
    RAISED.set(raised)
    state = await environment.rollout(row, policy, "policy", {})
    if state["error"] is not None:
        raise state["error"].__cause__ or state["error"]
    await environment.rubric.score_rollout(state)
    if raised:
        raise raised[0]  # the package itself would count 0
    metrics = {name: value for name, value in (state["metrics"] or {}).items() if isinstance(value, (int, float))}
    return {"done": True, "messages": policy.last(state), "reward": state["reward"], "metrics": metrics}


def _rubrics(rubric: Any) -> Iterator[Any]:
    inside = getattr(rubric, "rubrics", None)
    if not inside:
        yield rubric
    for one in inside or []:
        yield from _rubrics(one)


def _watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that notes what it raises, with the signature of the first one."""
    @functools.wraps(function)
    async def watched(*args: Any, **given: Any) -> Any:
        try:
            result = function(*args, **given)
            return await result if inspect.isawaitable(result) else result
        except Exception as error:
            RAISED.get().append(error)
            raise
    return watched


def _policy(answers: asyncio.Queue[Message], write: Callable[[Message], None]) -> Any:
    """Return a model of the package that is elsewhere."""
    from verifiers.legacy.clients import Client
    from verifiers.legacy.types import Response, ResponseMessage, ToolCall

    class Policy(Client):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(None)
            self._known: list[Message] = []

        async def get_response(
            self, prompt: Any, model: str, sampling_args: Any, tools: Any = None, **given: Any,
        ) -> Any:
            messages = [_plain(one) for one in prompt]
            if messages[:len(self._known)] != self._known:
                raise Refused("its prompts do not continue the conversation, which Hone's harnesses need")
            write({"asked": messages[len(self._known):], "tools": [_tool(one) for one in tools or []]})
            answer, calls = await answers.get(), None
            if "tool" in answer:
                calls = [ToolCall(id=f"call_{len(messages)}", name=answer["tool"],
                                  arguments=json.dumps(answer["arguments"]))]
            message = ResponseMessage(content=answer.get("text", ""), tool_calls=calls, is_truncated=False,
                                      finish_reason="tool_calls" if calls else "stop")
            self._known = [*messages, _plain(message)]
            return Response(id=uuid.uuid4().hex, created=0, model="policy", message=message)

        def last(self, state: Any) -> list[Message]:
            """Return what the environment said after the last answer."""
            said = state.get("final_env_response") or []
            return [_plain(one) for one in ([{"role": "user", "content": said}] if isinstance(said, str) else said)]

        setup_client = to_native_tool = to_native_prompt = get_native_response = None
        raise_from_native_response = from_native_response = close = None

    return Policy()


def _plain(message: Any) -> Message:
    """Return role and text of a message, and the calls in it."""
    given = message if isinstance(message, dict) else message.model_dump(exclude_none=True)
    content = given.get("content") or ""
    if not isinstance(content, str):
        if any(part.get("type") != "text" for part in content):
            raise Refused("a message has parts that are no text")
        content = "".join(part["text"] for part in content)
    calls = [[one["name"], one["arguments"]] for one in given.get("tool_calls") or []]
    return {"role": given["role"], "content": content, **({"calls": calls} if calls else {})}


def _tool(tool: Any) -> Message:
    return {"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters}}


if __name__ == "__main__":
    main()
