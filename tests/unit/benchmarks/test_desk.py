"""The desk's experiment: agents are graded by what they left, and a stub by what they said."""

import pytest

from benchmarks.methods import desk
from hone.environments.desk.agents import AGENTS


def test_the_grade_ranks_agents_and_the_stub_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "TASKS", 1)
    desk.scores.cache_clear()
    means = {agent: desk.run(agent, 50).figures for agent in AGENTS}
    desk.scores.cache_clear()
    assert [expected.holds(means) for expected in desk.DESK.expects] == [True, True, True]
    assert means["perfect"]["score"] == 100
    swapped = {**means, "liar": means["perfect"], "perfect": means["liar"]}
    assert not desk.DESK.expects[0].holds(swapped)
