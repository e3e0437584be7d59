"""A preflight as a table: a view of its rows, and the action that follows. It publishes, samples once, and ends."""

from dataclasses import replace
from typing import Any

import pytest

from hone.resolution.stages import stages
from services.learner.driver.decisions import (
    Action,
    DropRefused,
    End,
    PublishBase,
    RequestGroups,
    Wait,
    decide_preflight,
)
from services.learner.driver.lease import Preflight
from services.learner.driver.pacing import Outline
from services.learner.driver.peers import Task
from services.learner.driver.preflight import PreflightSamples
from services.learner.driver.view import GroupCount, View
from tests.support.learner.decisions import NEW, at, spec


class FirstTasks:
    """The tasks of a run by their places."""

    def train(self, first: int, count: int) -> list[Task]:
        return [Task({"place": place}, f"{place}") for place in range(first, first + count)]


NOTHING: Any = FirstTasks()
SOURCE = PreflightSamples(stages(spec())[0], Preflight(tasks=4, samples=2), NOTHING)
BASE = at(0)


def pilots(**counts: Any) -> dict[tuple[str, int], GroupCount]:
    return {("pilot", 1): GroupCount(**counts)}


@pytest.mark.parametrize(("view", "action"), [
    (NEW, PublishBase()),
    (replace(BASE, unpublished=("user",), memory=NEW.memory), PublishBase()),
    (BASE, RequestGroups(1, 0, 4, "ver_0", "pilot")),
    (replace(BASE, counts=pilots(total=4, requested=1, ready=3)), Wait("1 of 4 pilot groups of step 1")),
    (replace(BASE, counts=pilots(total=4, requested=1, ready=3, refused=1)), DropRefused()),
    (replace(BASE, counts=pilots(total=3, ready=3)), End("succeeded", None, "surplus")),
    (replace(BASE, failure="pilot group 0: no template"), End("failed", "pilot group 0: no template", "failed")),
    (replace(BASE, past_deadline=True, counts=pilots(total=4, requested=4, unclaimed=4)),
     End("failed", "the run's deadline of 60 s passed while it waited for 4 of 4 pilot groups of step 1", "failed")),
])
def test_the_action_that_follows_from_a_view(view: View, action: Action) -> None:
    assert decide_preflight(Outline.of(spec()), SOURCE, view) == action


def test_the_first_tasks_of_the_run_are_answered_so_often() -> None:
    request = SOURCE.group_request(RequestGroups(1, 0, 4, "ver_0", "pilot"))
    assert [task.content_hash for task in request.tasks] == ["0", "1", "2", "3"]
    assert [one.rollouts for one in request.granted] == [2, 2, 2, 2]
