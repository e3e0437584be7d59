"""A task is admitted that a policy with all tools solves more often than one that sees half of them."""

import pytest

from hone.environments.packages.episode import PackageEpisode
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.synthesis.trials import Trial, admitted, hidden, trial_report
from hone.environments.tools import ToolCall
from tests.unit.environments.packages.shop import TASK, shop


@pytest.mark.parametrize(("strong", "weak", "tells"), [
    (1.0, 0.0, True), (0.5, 0.4, True), (0.375, 0.25, True), (0.5, 0.45, False), (0.0, 0.0, False), (0.2, 0.9, False)])
def test_a_difference_of_a_tenth_is_enough(strong: float, weak: float, tells: bool) -> None:
    assert Trial(strong, weak).tells is tells


def test_half_of_the_tools_are_hidden_by_the_seed_and_cannot_be_called() -> None:
    drawn = [hidden(shop(), TASK, f"{seed}") for seed in range(20)]
    assert {len(one) for one in drawn} == {1}
    assert len(set(drawn)) == 2
    assert hidden(shop(), TASK, "0") == drawn[0]
    episode = PackageEpisode(shop(), TASK, LocalRunner(), 5, hidden=frozenset({"find_order"}))
    assert [tool["function"]["name"] for tool in episode.reset().tools or []] == ["cancel_order"]
    taken = episode.fork().step(ToolCall("find_order", {"email": "ada@mail.org"}).action())
    assert taken.observation.messages[0]["content"].startswith("error: no tool find_order")


def test_tasks_are_left_that_tell_policies_apart_and_the_report_has_each() -> None:
    other = TASK.model_copy(update={"id": "cancel-2"})
    trials = {"cancel-1": Trial(0.75, 0.25), "cancel-2": Trial(0.25, 0.25)}
    assert [task.id for task in admitted(shop(tasks=[TASK, other]), trials).tasks] == ["cancel-1"]
    assert trial_report(trials) == {"tried": 2, "admitted": 1, "strong": 0.5, "weak": 0.25, "tasks": {
        "cancel-1": [0.75, 0.25], "cancel-2": [0.25, 0.25]}}
