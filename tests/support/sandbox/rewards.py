"""Rewards of programs that the sandbox ran."""

from hone.sandbox.program import Ended, Program, Ran
from tests.integration.sandbox.hacks import NUMBERS

RIGHT = "def solve(x):\n    return x + 1"


def solved(source: str, **others: object) -> Program:
    return Program(source, function="solve", calls=[[number] for number in NUMBERS], **others)  # type: ignore[arg-type]


def rewarded(ran: Ran) -> bool:
    """Return whether a grader would reward the program: the comparison is out here, as in a grader."""
    return ran.status is Ended.FINISHED and [one.value for one in ran.outcomes] == [number + 1 for number in NUMBERS]
