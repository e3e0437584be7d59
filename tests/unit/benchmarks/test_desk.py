"""The desk's experiment and its tasks in the harness that agents use."""

import json

import pytest

from benchmarks.methods import desk
from benchmarks.methods.experiment import Figures
from benchmarks.methods.local_play import LocalPlay
from hone.environments.desk.agents import AGENTS
from hone.environments.desk.episode import DeskEpisode
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.tools import tool_call


def test_the_grade_ranks_agents_and_the_stub_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "TASKS", 1)
    desk.scores.cache_clear()
    means: dict[str, Figures] = {agent: desk.run(agent, 50).figures for agent in AGENTS}
    desk.scores.cache_clear()
    assert [expected.holds(means) for expected in desk.DESK.expects] == [True, True, True]
    assert means["perfect"]["score"] == 100
    swapped = {**means, "liar": means["perfect"], "perfect": means["liar"]}
    assert not desk.DESK.expects[0].holds(swapped)


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_in_one_answer_are_carried_out_and_the_next_answer_ends_the_episode(family: Family) -> None:
    one = DeskEpisode(task(family, 4), 20)
    play = LocalPlay(one, "tool_loop")
    playing = play.playing()
    asked = next(playing)
    assert "list_events" in asked.said[0]["content"]
    answer = "\n".join(_written(action) for action in one.solution()[:-1])
    assert playing.send(answer).said[-1]["role"] == "tool"
    with pytest.raises(StopIteration):
        playing.send("Done.")
    assert one.verify() == 1.0
    assert all(step.valid for step in play.steps)


def _written(action: str) -> str:
    call = tool_call(action)
    assert call is not None
    return f"<tool_call>{json.dumps({'name': call.tool, 'arguments': call.arguments})}</tool_call>"
