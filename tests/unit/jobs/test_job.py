"""The outcome of an attempt, once its kind has said how long to pause and when to give up."""

from typing import Any, cast

import pytest

from hone.jobs.job import Again, Done, Failed, Job, Kind, Outcome


def job(attempts: int) -> Job:
    return Job(1, "tenant", "kind", "subject", attempts, epoch=attempts)


@pytest.mark.parametrize(("attempts", "outcome", "given_up", "final"), [
    (1, Again("away"), True, Again("away", 1.0)),
    (2, Again("away"), True, Again("away", 10.0)),
    (3, Again("away", found="report"), True, Failed("away (after 3 attempts)", "report")),
    (3, Again("away"), False, Again("away", 10.0)),
    (9, Again("away", after_s=5.0, counts=False, late=True), True, Again("away", 5.0, counts=False, late=True)),
    (9, Done("found"), True, Done("found")),
    (1, Failed("unfit"), True, Failed("unfit")),
])
def test_pauses_and_the_last_attempt(attempts: int, outcome: Outcome, given_up: bool, final: Outcome) -> None:
    nothing = cast(Any, None)
    kind = Kind(nothing, nothing, at_once=1, pauses_s=(1.0, 10.0), given_up=given_up)
    assert kind.final(job(attempts), outcome) == final
