"""Metrics in words, what a search means, and what a run's page begins with."""

from hone.client.metric_table import LOSS
from services.console import series


def test_a_first_look_is_reward_then_evaluation() -> None:
    names = ["lr", "gap/mean", "eval/sampled", "eval/greedy", "eval/masked", "reward/mean"]
    assert series.first_look(names) == ["reward/mean", "eval/greedy", "eval/sampled", "gap/mean"]


def test_words_have_their_unit() -> None:
    assert series.words("gap/mean") == "Trainer-sampler gap, nats a token"
    assert series.words("eval/greedy") == "Held-out accuracy, greedy"


def test_shares_are_shown_in_percent() -> None:
    assert series.words("loss/clip_fraction") == "Clipped tokens, %"
    assert series.shown("loss/clip_fraction", [(1, 0.25)]) == [(1, 25.0)]
    assert series.shown("loss", [(1, 0.25)]) == [(1, 0.25)]


def test_a_search_means_names_titles_and_groups() -> None:
    for search in ("loss/clip", "CLIPPED", "policy loss", ""):
        assert series.wanted("loss/clip_fraction", search)
    assert not series.wanted("loss/clip_fraction", "advantage")


def test_an_anchor_has_no_spaces() -> None:
    assert series.anchor(LOSS) == "metrics-policy-loss"
