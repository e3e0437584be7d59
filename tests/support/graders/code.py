"""Grades of programs that a stand-in for the sandbox runs."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from hone.graders.contract import Result
from hone.graders.judgement import grades
from hone.graders.sample import Sample
from hone.graders.specs import checked
from hone.sandbox.program import Program, Ran
from tests.unit.graders.judging import Judged

Plays = Callable[[Program], Ran]


class Played(Judged):
    """Tools whose sandbox answers by a function. They keep the programs."""

    def __init__(self, spec: Any, plays: Plays) -> None:
        super().__init__(spec, lambda _: "")
        self._plays, self.programs = plays, list[Program]()

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        self.programs += programs
        return list(map(self._plays, programs))


def graded(plays: Plays, output: str, given: Any, **fields: Any) -> tuple[Result, list[Program]]:
    spec = checked({"type": "code", **fields})
    tools = Played(spec, plays)
    [result] = asyncio.run(grades(spec, [Sample({"tests": given, "name": "f", "more": given}, output)], tools))
    return result, tools.programs
