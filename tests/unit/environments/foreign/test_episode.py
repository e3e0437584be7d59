"""An episode elsewhere: its state is its actions, and whatever it becomes again is played again and compared."""

from itertools import count
from typing import Any

import pytest

from hone.environments.contract import EpisodeFailed, EpisodeLost, EpisodeOver
from hone.environments.foreign.episode import ForeignEpisode, Heard, Played
from hone.environments.foreign.losses import MOST
from hone.environments.foreign.scores import Rewards, ScoredParams


class Echo:
    """A world that repeats what is said, until `stop`. It is lost at `die`."""

    tools: list[dict[str, Any]] | None = None

    def __init__(self, opened: list[str], noise: Any = "") -> None:
        self._opened, self._noise = opened, noise

    def reset(self) -> Heard:
        self._opened.append("open")
        return Heard([{"role": "user", "content": "say something"}])

    def step(self, action: str) -> Heard:
        if action == "die":
            raise EpisodeLost("its server has gone")
        return Heard([{"role": "user", "content": f"{action}{self._noise}"}], action == "stop", score=1.0)

    def close(self) -> None:
        self._opened.append("closed")


def played(**more: Any) -> tuple[ForeignEpisode, list[str]]:
    opened = list[str]()
    return ForeignEpisode(Played("echo", lambda: Echo(opened), **{"turns": 9, **more})), opened


def test_equal_actions_lead_to_equal_states_and_a_fork_repeats_them_in_a_world_of_its_own() -> None:
    one, opened = played()
    first = one.reset()
    after = one.step("a")
    assert first.state_hash != after.observation.state_hash
    assert after.observation.item == {"verified": 1.0}
    other = one.fork()
    assert other.state_hash() == one.state_hash()
    assert opened.count("open") == 2
    assert other.step("b").observation.state_hash == one.step("b").observation.state_hash
    other.close()
    one.restore(one.snapshot())
    assert one.snapshot()["actions"] == ["a", "b"]


def test_a_world_that_answers_otherwise_is_no_fork() -> None:
    numbers, opened = count(), list[str]()
    one = ForeignEpisode(Played("echo", lambda: Echo(opened, next(numbers)), 9))
    one.reset()
    one.step("a")
    with pytest.raises(EpisodeLost, match="answered otherwise"):
        one.fork()
    assert opened[-1] == "closed"
    opened.clear()
    with pytest.raises(EpisodeLost, match="answered otherwise"):
        one.restore(one.snapshot())
    assert opened[-1] == "closed", "a session that is not restored leaves no world behind"


@pytest.mark.parametrize(("turns", "actions"), [(9, ["a", "stop"]), (2, ["a", "b"])])
def test_an_episode_ends_with_its_world_or_its_turns(turns: int, actions: list[str]) -> None:
    one, _ = played(turns=turns)
    one.reset()
    assert [one.step(action).done for action in actions] == [False, True]
    with pytest.raises(EpisodeOver):
        one.step("more")


def test_an_action_that_ends_its_world_each_time_fails_in_the_end() -> None:
    for _ in range(MOST - 1):
        one, _ = played()
        one.reset()
        with pytest.raises(EpisodeLost):
            one.step("die")
    one, _ = played()
    one.reset()
    with pytest.raises(EpisodeFailed, match="24 times at this action"):
        one.step("die")


@pytest.mark.parametrize(("params", "rewards", "score"), [
    ({}, [0.0, 0.5, 0.25], 0.75), ({"score": "last"}, [0.0, None, 0.25], 0.25), ({}, [], None),
    ({"missing": 0.0}, [None], 0.0), ({"least": -10.0, "most": 10.0}, [5.0], 0.75)])
def test_rewards_become_a_score_from_0_to_1(params: dict[str, Any], rewards: list[float], score: float | None) -> None:
    seen = Rewards(ScoredParams(**params))
    for reward in rewards:
        seen.add(reward)
    assert seen.score(done=True) == score


@pytest.mark.parametrize("reward", [2.0, -0.1, float("nan")])
def test_a_reward_outside_of_the_range_is_none(reward: float) -> None:
    seen = Rewards(ScoredParams())
    seen.add(reward)
    assert seen.score(done=False) is None
    with pytest.raises(EpisodeFailed, match=r"expected 0\.0 to 1\.0"):
        seen.score(done=True)
