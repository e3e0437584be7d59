"""Tools of this service's graders: judges, and other graders wherever those run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from hone.graders.contract import Result
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import Asked, JudgeFailed, Reply
from hone.graders.sample import Sample, World
from hone.graders.scenes import Scene, WorldLost
from hone.graders.specs import Spec
from hone.process.line import StillWaiting, Turn
from hone.rpc.errors import NotReady
from hone.sandbox.client import Sandbox, SandboxBusy
from hone.sandbox.program import Ended, Program, Ran
from services.reward.worlds import Worlds

Inner = Callable[[Spec, Sample, Turn], Awaitable[Result]]
"""Grades a sample, wherever its grader runs. It raises StillWaiting alone."""


class Judges(Protocol):
    """Models and verify servers that answer for the tenant and the run of a turn."""

    async def ask(self, question: Asked, turn: Turn) -> Reply:
        """Return a judge's answer. Raises JudgeFailed, StillWaiting where its limits leave no place, and NotReady."""


class NoJudges:
    """There is nobody to ask."""

    async def ask(self, question: Asked, turn: Turn) -> Reply:  # noqa: ARG002
        raise JudgeFailed(ErrorKind.MODEL_SERVER, f"no judge {question.judge!r} can be asked here")


@dataclass(frozen=True)
class Helpers:
    """Who does for graders what this service does not do itself."""

    judges: Judges = field(default_factory=NoJudges)
    sandbox: Sandbox | None = None
    worlds: Worlds | None = None


class ServiceTools:
    """The tools of one grade. What it used is counted to its turn."""

    def __init__(self, spec: Spec, turn: Turn, inner: Inner, helpers: Helpers) -> None:
        self._spec, self._turn, self._inner, self._helpers = spec, turn, inner, helpers

    async def graded(self, asked: Sequence[tuple[str, Sample]]) -> list[Result]:
        return await asyncio.gather(*(
            self._inner(self._spec.inner[path], sample, self._turn) for path, sample in asked))

    async def asked(self, questions: Sequence[Asked]) -> list[Reply | JudgeFailed]:
        return await asyncio.gather(*map(self._answer, questions))

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        return await asyncio.gather(*map(self._run, programs))

    @asynccontextmanager
    async def entered(self, world: World) -> AsyncIterator[Scene]:
        if self._helpers.worlds is None:
            raise WorldLost("there is no simulation service")
        try:
            async with self._helpers.worlds.entered(world) as scene:
                yield scene
        except NotReady as away:
            raise StillWaiting(str(away)) from away

    async def _run(self, program: Program) -> Ran:
        if self._helpers.sandbox is None:
            return Ran(Ended.INFRA_ERROR, "there is no sandbox")
        try:
            return await self._helpers.sandbox.run(program, self._turn.tenant, self._turn.run, self._turn.wait_s)
        except SandboxBusy as busy:
            raise StillWaiting(str(busy)) from busy

    async def _answer(self, question: Asked) -> Reply | JudgeFailed:
        try:
            return await self._helpers.judges.ask(question, self._turn)
        except JudgeFailed as failed:
            return failed
        except NotReady as away:
            raise StillWaiting(str(away)) from away
