"""What a grader in Python returns is a score, or says nothing about the policy."""

from collections.abc import Sequence

import pytest

from hone.graders.contract import Status
from hone.graders.judgement import grades
from hone.graders.sample import Sample
from hone.graders.specs import checked
from hone.sandbox.program import Ended, Outcome, Program, Ran
from tests.unit.graders.judging import Judged

GRADER = checked({"type": "python", "name": "p", "source": "def grade(sample, item): return 1"})


class Returning(Judged):
    """Tools with a sandbox in which each function returns `value`."""

    def __init__(self, value: object) -> None:
        super().__init__(GRADER, lambda question: question.judge)
        self._value = value

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        return [Ran(Ended.FINISHED, outcomes=(Outcome(self._value),))] * len(programs)


@pytest.mark.parametrize(("value", "score"), [
    (0.25, 0.25), (1, 1.0), (True, 1.0), (10**400, None), (-10**400, None), (float("nan"), None), (float("inf"), None),
    ("0.7", None), (None, None), ([1], None), (1.0000000000000002, None)])
async def test_a_number_of_the_range_is_a_score(value: object, score: float | None) -> None:
    [result] = await grades(GRADER, [Sample({}, "x")], Returning(value))
    assert (result.status, result.score) == (Status.OK if score is not None else Status.INVALID_SPEC, score)
