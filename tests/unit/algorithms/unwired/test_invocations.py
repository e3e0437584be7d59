"""SelSkill's metrics of skill calls: selskill.md, metrics and edge cases."""

import pytest

from hone.algorithms.unwired.invocations import Invocation, SkillEpisode, execution_precision, figures, late_call

HEAT, MISS, COOL = Invocation(2, "heat", "completed"), Invocation(4, "heat", "unmet_precondition"), Invocation(
    5, "cool", "completed")


@pytest.mark.parametrize(("invocations", "expected"), [
    ([], None), ([HEAT], 1.0), ([MISS], 0.0), ([HEAT, MISS, COOL], 2 / 3),
    ([HEAT, Invocation(3, "x", "malformed_argument"), Invocation(3, "x", "invalid_call"),
      Invocation(3, "x", "execution_error")], 0.25),
])
def test_precision_is_of_attempted_calls_and_nothing_without_one(invocations, expected):
    assert execution_precision(invocations) == expected


@pytest.mark.parametrize(("skill", "branch", "late"), [
    ("heat", 1, True), ("heat", 2, True), ("heat", 4, False), ("cool", 4, True), ("cool", 5, False), ("wash", 0, False),
])
def test_a_late_call_is_of_the_skipped_skill_after_the_branch(skill, branch, late):
    assert late_call([HEAT, MISS, COOL], skill, branch) == late


def test_the_four_figures():
    episodes = [SkillEpisode(True, 10, [HEAT, MISS]), SkillEpisode(False, 20, [COOL]), SkillEpisode(True, 6, [])]
    assert figures(episodes) == {"success": 2 / 3, "execution_precision": 2 / 3, "calls": 1.0, "steps": 12.0}


def test_episodes_without_a_call_have_no_precision():
    assert figures([SkillEpisode(True, 3, [])])["execution_precision"] is None
    with pytest.raises(ValueError, match="episodes: found none"):
        figures([])
