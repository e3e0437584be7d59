"""Rollouts over the pipes of the program, many beside each other. A line is JSON:

    in:   {"package": …, "arguments": {…}, "memory_mb": 4096}
    out:  {"id": "", "rows": 120}, or {"id": "", "error": …}
    in:   {"id": "a", "row": 7}
    out:  {"id": "a", "asked": [messages that are new], "tools": […]}
    in:   {"id": "a", "text": …} or {"id": "a", "tool": …, "arguments": {…}}
    out:  …, at the end {"id": "a", "done": true, "messages": […], "reward": 0.5, "metrics": {…}}, or {…, "error": …}
    in:   {"id": "a", "leave": true}
    in:   {"id": "b", "alive": true}
    out:  {"id": "b", "alive": true}
"""

import asyncio
import functools
import json
import os
import resource
import threading
import time
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from typing import Any, Protocol, TextIO

from .conversation import Conversation, Failed, Message, Refused
from .strays import end_strays

_FILE_BYTES, _LONGEST = 2**30, 1000


class Rollouts(Protocol):
    """An environment of the package, loaded."""

    @property
    def rows(self) -> int:
        """Tasks that it has, at least one."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Hold what all episodes share."""

    async def play(self, row: int, conversation: Conversation) -> Message:
        """Return the result of an episode. An error of the world is not a reward."""


def main() -> None:
    """Serve the environment that the first line orders."""
    out, lines = os.fdopen(os.dup(1), "w", buffering=1), os.fdopen(os.dup(0), "r")
    os.dup2(2, 1)  # what the package prints is no line of ours
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nor may its programs read ours
    threading.Thread(target=_ends_with_parent, args=(os.getppid(),), daemon=True).start()
    order = json.loads(lines.readline())
    _limit(order["memory_mb"])
    try:
        rollouts = _loaded(order)
    except Exception as error:
        _write(out, "", _failed(error))
        return
    asyncio.run(_serve(rollouts, lines, out))


def _loaded(order: Message) -> Rollouts:
    """Return the environment, by the interface that the package has."""
    if find_spec("verifiers.legacy"):
        from .classic import Classic
        return Classic(order["package"], order["arguments"])
    from .tasksets import Tasks
    return Tasks(order["package"], order["arguments"])


def _write(out: TextIO, who: str, message: Message) -> None:
    print(json.dumps({"id": who, **message}), file=out)


def _failed(error: Exception) -> Message:
    kind = "" if isinstance(error, (Failed, Refused)) else f"{type(error).__name__}: "
    return {"error": f"{kind}{error}"[:_LONGEST]}


def _ends_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    end_strays(but=os.getpid())
    os._exit(1)


def _limit(memory_mb: int) -> None:
    for kind, most in ((resource.RLIMIT_AS, memory_mb * 2**20), (resource.RLIMIT_FSIZE, _FILE_BYTES),
                       (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))


async def _serve(rollouts: Rollouts, lines: TextIO, out: TextIO) -> None:
    """Play until the input ends."""
    try:
        async with rollouts.serving():
            _write(out, "", {"rows": rollouts.rows})
            await _heard(rollouts, lines, out)
    except Exception as error:
        _write(out, "", _failed(error))
    os._exit(0)


async def _heard(rollouts: Rollouts, lines: TextIO, out: TextIO) -> None:
    playing: dict[str, tuple[Conversation, asyncio.Task[None]]] = {}
    while line := await asyncio.to_thread(lines.readline):
        said: dict[str, Any] = json.loads(line)
        who = said.pop("id")
        if "alive" in said:
            _write(out, who, said)
        elif "row" in said:
            conversation = Conversation(functools.partial(_write, out, who))
            playing[who] = conversation, asyncio.create_task(_play(rollouts, said["row"] % rollouts.rows, conversation))
        elif who in playing and "leave" in said:
            playing.pop(who)[1].cancel()
        elif who in playing:
            playing[who][0].answers.put_nowait(said)


async def _play(rollouts: Rollouts, row: int, conversation: Conversation) -> None:
    try:
        said = await rollouts.play(row, conversation)
        if conversation.refused is not None:
            raise conversation.refused
    except Exception as error:
        said = _failed(error)
    conversation.write(said)
