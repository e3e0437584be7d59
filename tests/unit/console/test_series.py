"""Metrics find their groups, and every metric has one."""

from services.console import series


def test_groups_in_reading_order_and_nothing_lost() -> None:
    names = ["lr", "reward/mean", "eval/greedy", "gap/mean", "staleness/max", "groups/expired", "groups",
             "trainer/idle_s", "trainer/export_s", "completion/tokens", "weather"]
    found = series.grouped(names)
    assert list(found) == ["Reward", "Held-out evaluation", "Trainer-sampler gap", "Staleness and pace", "Optimization",
                           "Groups and signal", "Lengths", "Work and time", "Other"]
    assert sorted(name for members in found.values() for name in members) == sorted(names)
    assert found["Staleness and pace"] == ["staleness/max", "groups/expired", "trainer/idle_s"]
    assert found["Groups and signal"] == ["groups"]


def test_a_first_look_is_reward_then_evaluation() -> None:
    names = ["lr", "gap/mean", "eval/sampled", "eval/greedy", "eval/masked", "reward/mean"]
    assert series.first_look(names) == ["reward/mean", "eval/greedy", "eval/sampled", "gap/mean"]


def test_words() -> None:
    assert series.words("eval/greedy") == "Held-out accuracy, greedy"
    assert series.words("correction/weight_mean") == "Correction: weight mean"
