"""Tokens' figures as a table: what a pointer would tell, in pages, for whom none does."""

import re

from services.console import token_table
from services.console.colouring import Token


def cells(markup: str) -> list[list[str]]:
    """Return the texts of each row, the head first."""
    return [[re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
            for row in re.findall(r"<tr>.*?</tr>", markup, re.DOTALL)]


def test_a_row_says_all_that_is_known_of_a_token() -> None:
    known = Token(5, " a\n", -0.5, advantage=0.25, teacher=-2.0, spans=("query, weight 2",), version="ver_1")
    untrained = Token(6, "<b>", trained=False, advantage=0.25)
    assert cells(token_table.page([known, untrained], 0, "Tokens")) == [
        ["Place", "Token", "Log-prob", "Advantage", "Chance", "Teacher", "Trained", "Id", "Version", "Spans"],
        ["0", "␣a↵", "-0.500", "+0.250", "60.7 %", "-2.000", "yes", "5", "ver_1", "query, weight 2"],
        ["1", "&lt;b&gt;", "–", "–", "–", "–", "no", "6", "–", ""]]


def test_what_no_token_has_is_no_column() -> None:
    assert cells(token_table.page([Token(5, "a")], 0, "Tokens")) == [["Place", "Token", "Id"], ["0", "a", "5"]]


def test_a_page_has_no_more_than_fifty() -> None:
    tokens = [Token(place, "a") for place in range(120)]
    last = cells(token_table.page(tokens, 100, "Tokens"))[1:]
    assert [row[0] for row in last] == [str(one) for one in range(100, 120)]
    assert len(cells(token_table.page(tokens, 50, "Tokens"))) == 51


def test_the_table_is_scrolled_by_keys_and_has_a_name() -> None:
    assert 'tabindex="0" role="region" aria-label="Tokens of call 3"' in token_table.page(
        [Token(5, "a")], 0, "Tokens of call 3")
