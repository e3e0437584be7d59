"""Scores of right, half right and empty answers."""

import pytest
from hone_near import GRADER, NearParams, grade

ITEM = {"answer": "2468"}


@pytest.mark.parametrize(("output", "score"), [("2468", 1.0), (" 2468 ", 1.0), ("2486", 0.5), ("24", 0.5), ("", 0.0)])
def test_the_score_is_the_share_of_right_places(output, score):
    assert grade(ITEM, output, NearParams(type="near")).score == score


def test_the_grader_knows_a_right_output():
    params = NearParams(type="near")
    assert grade(ITEM, GRADER.right_output(ITEM, params).text, params).score == 1.0
