"""Processes of agents and tools: how many start at a time, and scripts with requirements of their own (PEP 723).

The package has `uv` make an environment for each, by the network. Where this one has all that a script needs, it runs
here. The chat loop, which is the agent of the harness `null`, does so without a process, because an interpreter would
import for a second in each episode.
"""

import asyncio
import functools
import hashlib
import re
import sys
import tomllib
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .conversation import Conversation

PLAYED: ContextVar[Conversation] = ContextVar("played")
"""The episode in which a process starts."""
_STARTING = 4
_BLOCK = re.compile(r"^# /// script\s*$\n(?P<lines>(?:^#.*$\n)+?)^# ///\s*$", re.MULTILINE)
_LOCAL = ("--bash", "--edit", "--search")  # tools that need a process and a folder


def run_scripts_here() -> None:
    """Let local runtimes of the package run scripts by this interpreter, where it has what they need."""
    from verifiers.v1.harnesses.utils.launch import CHAT_PROGRAM_SOURCE
    from verifiers.v1.runtimes import ProgramResult, SubprocessRuntime

    install, start, chat = SubprocessRuntime.prepare_uv_script, SubprocessRuntime.run_program, Chat(CHAT_PROGRAM_SOURCE)
    chat_path = _path(SubprocessRuntime.scripts_dir, CHAT_PROGRAM_SOURCE)

    async def prepared(runtime: Any, script: str | bytes, env: Any = None, *, activate: bool = True) -> Any:
        text = script if isinstance(script, str) else script.decode()
        if not has_all(text):
            return await install(runtime, script, env, activate=activate)
        path = _path(runtime.scripts_dir, text)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return [sys.executable, str(path)]

    async def run(runtime: Any, argv: list[str], env: dict[str, str]) -> Any:
        if argv[:2] != [sys.executable, str(chat_path)] or set(_LOCAL) & set(argv):
            return await start(runtime, argv, env)
        code, failed = await chat.run(argv[2:], runtime.workdir)
        return ProgramResult(exit_code=code, stdout="", stderr=failed)

    SubprocessRuntime.prepare_uv_script, SubprocessRuntime.run_program = prepared, run


def start_few_at_once() -> None:
    """Let few episodes start processes at a time: of a large group that starts at once, all would be late."""
    from verifiers.v1.runtimes import SubprocessRuntime

    free = asyncio.Semaphore(_STARTING)
    for name in ("run", "run_background", "open_process"):
        setattr(SubprocessRuntime, name, _in_turn(getattr(SubprocessRuntime, name), free))


def _in_turn(start: Callable[..., Any], free: asyncio.Semaphore) -> Callable[..., Any]:
    @functools.wraps(start)
    async def started(*given: Any, **named: Any) -> Any:
        conversation = PLAYED.get(None)  # None: what all episodes share
        if conversation is not None:
            await conversation.begins(free)
        return await start(*given, **named)
    return started


def has_all(script: str) -> bool:
    """Return whether this environment has all that a script requires."""
    from packaging.requirements import Requirement

    block = _BLOCK.search(script)
    if block is None:
        return True
    needs = tomllib.loads(re.sub(r"^# ?", "", block["lines"], flags=re.MULTILINE))
    wanted = [one for one in map(Requirement, needs.get("dependencies", [])) if not one.marker or one.marker.evaluate()]
    try:
        return all(version(one.name) in one.specifier for one in wanted)
    except PackageNotFoundError:
        return False


def _path(folder: str, script: str) -> Path:
    return Path(folder) / f"{hashlib.sha256(script.encode()).hexdigest()}.py"


class Chat:
    """The package's chat loop, many beside each other. Each has arguments and a client of its own."""

    def __init__(self, source: str) -> None:
        self._arguments: ContextVar[Any] = ContextVar("arguments")
        self._clients: ContextVar[list[Any]] = ContextVar("clients")
        self._names: dict[str, Any] = {"__name__": "chat"}
        exec(compile(source, "chat", "exec"), self._names)
        self._parse, self._client = self._names["parse_args"], self._names["AsyncOpenAI"]
        self._names.update(parse_args=self._arguments.get, AsyncOpenAI=self._opened)

    async def run(self, argv: list[str], folder: Path) -> tuple[int, str]:
        """Return the exit code of a chat, and what it failed by."""
        arguments = self._parsed(argv)
        if arguments.initial_messages_file:
            arguments.initial_messages_file = str(folder / arguments.initial_messages_file)
        clients: list[Any] = []
        self._arguments.set(arguments)
        self._clients.set(clients)
        try:
            await self._names["main"]()
        except SystemExit as ended:
            return int(ended.code or 0), traceback.format_exc()
        except Exception:
            return 1, traceback.format_exc()
        finally:
            for client in clients:
                await client.close()
        return 0, ""

    def _parsed(self, argv: list[str]) -> Any:
        before = sys.argv
        sys.argv = ["chat", *argv]
        try:
            return self._parse()
        finally:
            sys.argv = before

    def _opened(self, **given: Any) -> Any:
        self._clients.get().append(self._client(**given))
        return self._clients.get()[-1]
