"""Lines of seeds, the run's own first."""

import math

from services.console.curves import PALETTE, Line, options, series, spoken


def test_a_line_a_seed_and_the_runs_own_is_thicker() -> None:
    found = options([Line("seed 0", [(1, 0.123456789)]), Line("seed 1", [], main=False)])
    own, sibling = found["series"]
    assert own["data"] == [[1, 0.12346]]
    assert own["lineStyle"]["width"] > sibling["lineStyle"]["width"]
    assert found["color"][0] == PALETTE[0]


def test_symbols_only_where_points_are_few() -> None:
    few, many = options([Line("a", [(n, 0.0) for n in range(40)]), Line("b", [(n, 0.0) for n in range(41)])])["series"]
    assert (few["showSymbol"], many["showSymbol"]) == (True, False)


def test_a_curve_in_words() -> None:
    assert spoken("Loss", [Line("seed 0", [(1, 2.0), (2, 1.5)])]) == "Loss: seed 0 1.5 at step 2"
    assert spoken("Loss", [Line("seed 0", [])]) == "Loss: no values yet"


def test_what_is_no_finite_number_is_a_gap() -> None:
    line = Line("seed 0", [(1, 0.5), (2, math.nan)])
    assert series([line])[0]["data"] == [[1, 0.5], [2, None]]
    assert spoken("Loss", [line]) == "Loss: seed 0 no finite number at step 2"
