"""Colours say how unlikely and how much better; text stays text."""

import pytest

from services.console import colouring
from services.console.colouring import Token


@pytest.mark.parametrize(("logp", "alpha"), [(0.0, None), (-2.0, "0.39"), (-4.0, "0.78"), (-40.0, "0.78")])
def test_less_likely_is_warmer(logp: float, alpha: str | None) -> None:
    expected = "" if alpha is None else f"rgba(245,140,30,{alpha})"
    assert colouring.background(Token(1, "a", logp), "log-prob") == expected


def test_a_teachers_word_is_coloured_by_itself() -> None:
    assert colouring.background(Token(1, "a", -4.0, teacher=-2.0), "teacher") == "rgba(245,140,30,0.39)"
    assert colouring.background(Token(1, "a", -4.0), "teacher") == ""
    assert colouring.background(Token(1, "a", -1.0, teacher=float("-inf")), "teacher") == "rgba(245,140,30,0.78)"
    assert "by the teacher" in colouring.legend("teacher")
    assert "by the teacher" not in colouring.legend("log-prob")


def test_better_is_blue_and_worse_is_red_where_it_was_trained() -> None:
    assert colouring.background(Token(1, "a", advantage=1.0), "advantage") == "rgba(40,150,240,0.39)"
    assert colouring.background(Token(1, "a", advantage=-1.0), "advantage") == "rgba(235,70,80,0.39)"
    assert colouring.background(Token(1, "a", advantage=1.0, trained=False), "advantage") == ""
    assert colouring.background(Token(1, "a", -1.0, advantage=1.0), "plain") == ""


def test_figures_in_words() -> None:
    sampled = Token(5, "a", -0.5, advantage=0.25)
    assert colouring.described(sampled) == "id 5 · log-prob -0.500 (60.7 %) · advantage +0.250"
    assert colouring.described(Token(5, "a", -0.5, teacher=-2.0)) == (
        "id 5 · log-prob -0.500 (60.7 %) · the teacher's -2.000")
    assert colouring.described(Token(5, "a", trained=False)) == "id 5 · not trained"
    assert colouring.described(Token(5, "a", spans=("query, weight 2", "all"))) == "id 5 · in query, weight 2 · in all"
    assert 'class="named"' in colouring.painted([Token(5, "a", spans=("all",))], "plain")


def test_a_match_spans_tokens_and_ignores_case() -> None:
    texts = ["ab", "C", "", "d", "abcd"]
    assert colouring.matches(texts, "BCD") == {0, 1, 2, 3, 4}
    assert colouring.matches(texts, "cd") == {1, 2, 3, 4}
    assert colouring.matches(texts, "") == set()
    assert colouring.matches(texts, "x") == set()


def test_what_a_model_writes_is_escaped() -> None:
    assert "&lt;script&gt;" in colouring.painted([Token(1, "<script>")], "plain")
    assert "↵" in colouring.painted([Token(1, "\n")], "plain")
