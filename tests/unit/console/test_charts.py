"""Charts: a line for each seed, the run's own first; metrics in words; the metrics of the overview."""

import math

from services.console.widgets import charts
from services.console.widgets.charts import PALETTE, Line, echart_options, echart_series, in_words


def test_a_line_a_seed_and_the_runs_own_is_thicker() -> None:
    found = echart_options([Line("seed 0", [(1, 0.123456789)]), Line("seed 1", [], main=False)])
    own, sibling = found["series"]
    assert own["data"] == [[1, 0.12346]]
    assert own["lineStyle"]["width"] > sibling["lineStyle"]["width"]
    assert found["color"][0] == PALETTE[0]


def test_symbols_only_where_points_are_few() -> None:
    few, many = echart_series([Line("a", [(n, 0.0) for n in range(40)]), Line("b", [(n, 0.0) for n in range(41)])])
    assert (few["showSymbol"], many["showSymbol"]) == (True, False)


def test_a_curve_in_words() -> None:
    assert in_words("Loss", [Line("seed 0", [(1, 2.0), (2, 1.5)])]) == "Loss: seed 0 1.5 at step 2"
    assert in_words("Loss", [Line("seed 0", [])]) == "Loss: no values yet"


def test_what_is_no_finite_number_is_a_gap() -> None:
    line = Line("seed 0", [(1, 0.5), (2, math.nan)])
    assert echart_series([line])[0]["data"] == [[1, 0.5], [2, None]]
    assert in_words("Loss", [line]) == "Loss: seed 0 not a finite number at step 2"


def test_a_first_look_is_reward_then_evaluation() -> None:
    names = ["lr", "gap/mean", "eval/sampled", "eval/greedy", "eval/masked", "reward/mean",
             "judge/gap", "judge/disagreement", "judge/false_accepts"]
    assert charts.first_look(names) == ["reward/mean", "eval/greedy", "eval/sampled",
                                        "judge/gap", "judge/disagreement", "gap/mean"]


def test_words_have_their_unit() -> None:
    assert charts.labelled("gap/mean") == "Trainer-sampler gap, nats a token"
    assert charts.labelled("eval/greedy") == "Held-out accuracy, greedy"


def test_shares_are_shown_in_percent() -> None:
    assert charts.labelled("loss/clip_fraction") == "Clipped tokens, %"
    assert charts.displayed("loss/clip_fraction", [(1, 0.25)]) == [(1, 25.0)]
    assert charts.displayed("loss", [(1, 0.25)]) == [(1, 0.25)]


def test_a_search_means_names_titles_and_groups() -> None:
    for search in ("loss/clip", "CLIPPED", "policy loss", ""):
        assert charts.matches("loss/clip_fraction", search)
    assert not charts.matches("loss/clip_fraction", "advantage")
