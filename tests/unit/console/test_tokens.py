"""Tokens as coloured text and as a table of figures."""

import re

import pytest

from services.console.widgets import tokens
from services.console.widgets.tokens import Token, table_page


@pytest.mark.parametrize(("logp", "alpha"), [(0.0, None), (-2.0, "0.39"), (-4.0, "0.78"), (-40.0, "0.78")])
def test_less_likely_is_warmer(logp: float, alpha: str | None) -> None:
    expected = "" if alpha is None else f"rgba(245,140,30,{alpha})"
    assert tokens.background(Token(1, "a", logp), "log-prob") == expected


def test_a_teachers_word_is_coloured_by_itself() -> None:
    assert tokens.background(Token(1, "a", -4.0, teacher=-2.0), "teacher") == "rgba(245,140,30,0.39)"
    assert tokens.background(Token(1, "a", -4.0), "teacher") == ""
    assert tokens.background(Token(1, "a", -1.0, teacher=float("-inf")), "teacher") == "rgba(245,140,30,0.78)"
    assert "by the teacher" in tokens.legend("teacher")
    assert "by the teacher" not in tokens.legend("log-prob")


def test_better_is_blue_and_worse_is_red_where_it_was_trained() -> None:
    assert tokens.background(Token(1, "a", advantage=1.0), "advantage") == "rgba(40,150,240,0.39)"
    assert tokens.background(Token(1, "a", advantage=-1.0), "advantage") == "rgba(235,70,80,0.39)"
    assert tokens.background(Token(1, "a", advantage=1.0, trained=False), "advantage") == ""
    assert tokens.background(Token(1, "a", -1.0, advantage=1.0), "plain") == ""


def test_figures_in_words() -> None:
    sampled = Token(5, "a", -0.5, advantage=0.25)
    assert tokens.described(sampled) == "id 5 · log-prob -0.500 (60.7 %) · advantage +0.250"
    assert tokens.described(Token(5, "a", -0.5, teacher=-2.0)) == (
        "id 5 · log-prob -0.500 (60.7 %) · the teacher's -2.000")
    assert tokens.described(Token(5, "a", trained=False)) == "id 5 · not trained"
    assert tokens.described(Token(5, "a", spans=("query, weight 2", "all"))) == "id 5 · in query, weight 2 · in all"
    assert 'class="named"' in tokens.painted([Token(5, "a", spans=("all",))], "plain")


def test_a_match_spans_tokens_and_ignores_case() -> None:
    texts = ["ab", "C", "", "d", "abcd"]
    assert tokens.matches(texts, "BCD") == {0, 1, 2, 3, 4}
    assert tokens.matches(texts, "cd") == {1, 2, 3, 4}
    assert tokens.matches(texts, "") == set()
    assert tokens.matches(texts, "x") == set()


def test_what_a_model_writes_is_escaped() -> None:
    assert "&lt;script&gt;" in tokens.painted([Token(1, "<script>")], "plain")
    assert "↵" in tokens.painted([Token(1, "\n")], "plain")


def cells(markup: str) -> list[list[str]]:
    """Return the texts of each row, the head first."""
    return [[re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
            for row in re.findall(r"<tr>.*?</tr>", markup, re.DOTALL)]


def test_a_row_says_all_that_is_known_of_a_token() -> None:
    known = Token(5, " a\n", -0.5, advantage=0.25, teacher=-2.0, spans=("query, weight 2",), version="ver_1")
    untrained = Token(6, "<b>", trained=False, advantage=0.25)
    assert cells(table_page([known, untrained], 0, "Tokens")) == [
        ["Place", "Token", "Log-prob", "Advantage", "Chance", "Teacher", "Trained", "Id", "Version", "Spans"],
        ["0", "␣a↵", "-0.500", "+0.250", "60.7 %", "-2.000", "yes", "5", "ver_1", "query, weight 2"],
        ["1", "&lt;b&gt;", "–", "–", "–", "–", "no", "6", "–", ""]]


def test_what_no_token_has_is_no_column() -> None:
    assert cells(table_page([Token(5, "a")], 0, "Tokens")) == [["Place", "Token", "Id"], ["0", "a", "5"]]


def test_a_page_has_no_more_than_fifty() -> None:
    many = [Token(place, "a") for place in range(120)]
    last = cells(table_page(many, 100, "Tokens"))[1:]
    assert [row[0] for row in last] == [str(one) for one in range(100, 120)]
    assert len(cells(table_page(many, 50, "Tokens"))) == 51


def test_the_table_is_scrolled_by_keys_and_has_a_name() -> None:
    assert 'tabindex="0" role="region" aria-label="Tokens of call 3"' in table_page(
        [Token(5, "a")], 0, "Tokens of call 3")
