"""A step whose rewards a simulator gives has the gap of its two branches as a metric, and a warning above the limit."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hone.environments.merchant_strategies import GAP
from hone.resolution.stages import stages
from services.learner.driver.decisions import PlannedStep
from services.learner.driver.reasoner_watch import of_gaps, watched
from tests.support.learner.samples import spec


def parts(*gaps: float) -> list[dict[str, Any]]:
    return [{"group_id": place, "index": 0, "components": {GAP: gap}} for place, gap in enumerate(gaps)]


@pytest.mark.parametrize(("rows", "gap"), [
    ([], None), (parts(*[0.14] * 10), None), (parts(0.9, *[0.2] * 64)[::-1], 0.2),
    ([{"group_id": 1, "index": 0, "components": {"other": 1.0}}], None)])
def test_two_branches_that_part_are_a_warning(rows: list[dict[str, Any]], gap: float | None) -> None:
    warning = of_gaps(rows, "train", "proposals of the step")
    assert (warning and warning.data["gap"]) == (gap and pytest.approx(gap))
    assert warning is None or "differ by 0.20 on average about the newest 64 proposals" in warning.message


class Grades:
    def all(self, name: str, group_ids: list[int]) -> list[dict[str, Any]]:
        assert (name, group_ids) == ("grades.components", [0, 1])
        return parts(0.1, 0.4)


def planned(environment: str) -> PlannedStep:
    [stage] = stages(spec(task={"environment": environment}))
    plan = SimpleNamespace(groups=[SimpleNamespace(group_id=0), SimpleNamespace(group_id=1)])
    return watched(cast(Any, Grades()), stage, PlannedStep(cast(Any, plan), {"reward/mean": 0.5}, []))


def test_a_step_of_proposals_is_watched_and_others_are_not() -> None:
    found = planned("merchant_strategies")
    assert found.metrics == {"reward/mean": 0.5, f"reward/{GAP}": pytest.approx(0.25)}
    assert [event.kind for event in found.warnings] == ["reasoner_gap"]
    assert planned("sort_digits").metrics == {"reward/mean": 0.5}
