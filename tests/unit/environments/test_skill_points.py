"""Points with a skill: what a turn changes, what it costs, and the chances of either choice."""

import pytest

from hone.environments.skill_points import Point, SkillPointsEpisode, SkillPointsParams, points

PARAMS = SkillPointsParams(points=2)
HELPS, HARMS = Point(True, True, plain=False, aided=True), Point(True, False, plain=True, aided=False)


def said(one: SkillPointsEpisode, action: str) -> tuple[str, bool, bool | None]:
    taken = one.step(action)
    return "".join(message["content"] for message in taken.observation.messages), taken.valid, taken.effect


def test_a_skill_costs_a_turn_and_counts_once_at_a_point() -> None:
    one = SkillPointsEpisode([HELPS, HARMS], PARAMS)
    seen = one.reset()
    assert ([message["content"] for message in seen.messages][1:], seen.turns_left) == (["++?"], 8)
    assert said(one, " aid\n") == ("aid++?", True, True)
    assert said(one, "aid") == ("aid++?", False, False)
    assert said(one, "come") == ("aid++?", False, False)
    assert said(one, "go") == ("+-?", True, True)
    assert said(one, "go") == ("", True, True)
    assert (one.verify(), one.snapshot()["calls"], one.snapshot()["harmful"]) == (1.0, 1, 0)


@pytest.mark.parametrize(("actions", "score", "harmful"), [
    (["aid", "go", "go"], 1.0, 0), (["go", "go"], 0.0, 0), (["aid", "go", "aid", "go"], 0.0, 1),
    (["go", "aid", "go"], 0.0, 1)])
def test_every_point_has_to_succeed(actions: list[str], score: float, harmful: int) -> None:
    one = SkillPointsEpisode([HELPS, HARMS], PARAMS)
    one.reset()
    done = [one.step(action).done for action in actions]
    assert (done[-1], sum(done), one.verify(), one.snapshot()["harmful"]) == (True, 1, score, harmful)


def test_an_episode_ends_with_its_turns() -> None:
    one = SkillPointsEpisode([HELPS, HARMS], SkillPointsParams(points=2, slack=0))
    one.reset()
    assert [one.step("?").done for _ in range(4)] == [False] * 3 + [True]
    assert one.verify() == 0.0


def test_the_chances_are_those_of_the_study() -> None:
    drawn = [point for seed in range(3000) for point in points(SkillPointsParams(), seed)]
    assert drawn == [point for seed in range(3000) for point in points(SkillPointsParams(), seed)]
    for chance, found in [(0.8, [one.plain for one in drawn]), (0.97, [one.aided for one in drawn if one.useful]),
                          (0.55, [one.aided for one in drawn if not one.useful]),
                          (0.5, [one.relevant for one in drawn]), (0.5, [one.useful for one in drawn]),
                          (0.5, [one.useful == one.relevant for one in drawn])]:
        assert sum(found) / len(found) == pytest.approx(chance, abs=0.02)
