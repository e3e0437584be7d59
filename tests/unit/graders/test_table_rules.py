"""The rule critic (v-tabler1.md) against chains checked by hand and the oracle."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.graders.process_gate import process_score
from hone.graders.table_rules import Cell, TableStep, parse_number, same, step_scores
from tests.oracles import v_tabler1 as oracle

TABLE = [
    ["City", "People", "Growth", "Income"],
    ["Rome", "2,800", "12%", "$30.5"],
    ["Oslo", "700", "-4%", "$52"],
    ["Lima", "9,700", "12.0", "$14.25"],
]


def step(op, result, *anchors, values=None):
    values = values or [TABLE[row][column] for row, column in anchors]
    cells = [Cell(row, column, value) for (row, column), value in zip(anchors, values, strict=True)]
    return TableStep(op, cells, result)


def score(one, answer=None):
    """One step whose result is the answer, unless another one is given."""
    return step_scores(TABLE, [one], one.result if answer is None else answer)[0]


CHAIN = [
    step("lookup", "2,800", (1, 1)), step("lookup", "700", (2, 1)), step("sum", "3500", (1, 1), (2, 1)),
    TableStep("conclude", [], "3,500"),
]


def test_6_a_correct_chain_scores_1():
    assert step_scores(TABLE, CHAIN, "3500") == [1.0] * 4
    assert process_score(step_scores(TABLE, CHAIN, "3500"), "mean") == 1.0


@pytest.mark.parametrize("place", [0, 1])
def test_6_one_wrong_value_lowers_exactly_that_step(place):
    wrong = [replace(one, cells=[replace(one.cells[0], value="999")]) if place == at else one
             for at, one in enumerate(CHAIN)]
    assert step_scores(TABLE, wrong, "3500") == [0.5 if place == at else 1.0 for at in range(4)]


@pytest.mark.parametrize("anchor", [(9, 1), (1, 4), (-1, 1), (1, -1)])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_6_an_invented_anchor_makes_that_step_0(anchor, place):
    invented = [replace(one, cells=[*one.cells, Cell(anchor[0], anchor[1], "1")]) if place == at else one
                for at, one in enumerate(CHAIN)]
    assert step_scores(TABLE, invented, "3500") == [0.0 if place == at else 1.0 for at in range(4)]


def test_6_no_steps_score_0():
    assert step_scores(TABLE, [], "3500") == []
    assert process_score([], "mean") == 0


def test_a_step_without_an_anchor_scores_0():
    assert score(TableStep("lookup", [], "2,800")) == 0.0


@pytest.mark.parametrize("one", [
    step("lookup", "rome", (1, 0)), step("lookup", "2800", (1, 1)), step("lookup", "12", (1, 2)),
    step("lookup", "30.501", (1, 3)),
    step("filter", "Rome|Lima", (1, 0), (3, 0)), step("filter", "2800 | 9700", (1, 1), (3, 1)),
    step("filter", "Rome", (1, 0)),
    step("count", "3", (1, 0), (2, 0), (3, 0)),
    step("sum", "8", (1, 2), (2, 2)), step("sum", "13,200", (1, 1), (2, 1), (3, 1)),
    step("diff", "2,100", (1, 1), (2, 1)), step("diff", "-2100", (2, 1), (1, 1)), step("diff", "16%", (1, 2), (2, 2)),
    step("ratio", "4", (1, 1), (2, 1)), step("ratio", "0.07217", (2, 1), (3, 1)),
    step("compare", ">", (1, 1), (2, 1)), step("compare", "<", (2, 1), (1, 1)), step("compare", "=", (1, 2), (3, 2)),
    step("argmax", "Lima", (1, 1), (2, 1), (3, 1)), step("argmax", "9700", (1, 1), (2, 1), (3, 1)),
    step("argmin", "Oslo", (1, 1), (2, 1), (3, 1)), step("argmax", "Rome", (1, 2), (2, 2), (3, 2)),
    step("argmax", "Lima", (3, 2), (2, 2), (1, 2)), step("argmin", "$14.25", (1, 3), (2, 3), (3, 3)),
])
def test_every_operation_is_recomputed(one):
    assert score(one) == 1.0


@pytest.mark.parametrize("one", [
    step("lookup", "Oslo", (1, 0)), step("lookup", "2,800", (1, 1), (2, 1)), step("lookup", "30.51", (1, 3)),
    step("filter", "Lima|Rome", (1, 0), (3, 0)), step("filter", "Rome", (1, 0), (3, 0)),
    step("count", "2", (1, 0), (2, 0), (3, 0)), step("sum", "3501", (1, 1), (2, 1)), step("sum", "1", (1, 0), (2, 1)),
    step("sum", "nothing", (1, 1)), step("diff", "-2100", (1, 1), (2, 1)), step("diff", "2800", (1, 1)),
    step("diff", "0", (1, 1), (2, 1), (3, 1)), step("ratio", "4.001", (1, 1), (2, 1)),
    step("ratio", "0", (1, 0), (2, 1)), step("compare", "=", (1, 1), (2, 1)), step("compare", "<", (1, 0), (2, 0)),
    step("argmax", "Rome", (1, 1), (2, 1), (3, 1)), step("argmax", "Lima", (1, 2), (2, 2), (3, 2)),
    step("argmin", "Rome", (1, 0), (2, 0)), step("median", "2800", (1, 1)),
])
def test_a_result_that_does_not_follow_costs_one_check(one):
    assert score(one) == 0.75


def test_a_ratio_by_zero_does_not_hold():
    table = [["1", "0"]]
    assert step_scores(table, [TableStep("ratio", [Cell(0, 0, "1"), Cell(0, 1, "0")], "0")], "0") == [0.75]


def test_a_result_that_nothing_uses_costs_one_check():
    assert score(CHAIN[0], answer="1") == 0.75
    later = [CHAIN[0], TableStep("conclude", [], "2800")]
    assert step_scores(TABLE, later, "1") == [1.0, 0.5]
    assert step_scores(TABLE, later[::-1], "1") == [0.0, 0.75]


def test_a_wrong_value_and_what_follows_from_it_cost_one_check():
    assert score(step("lookup", "999", (1, 1), values=["999"])) == 0.75


def test_a_conclusion_without_an_earlier_result_scores_0():
    assert score(TableStep("conclude", [], "3500")) == 0.0
    assert step_scores(TABLE, [CHAIN[0], TableStep("conclude", [], "2801")], "2801")[1] == 0.0


@pytest.mark.parametrize(("text", "number"), [
    ("12%", "12"), ("$1,234.50", "1234.5"), ("-$3", "-3"), ("$ -3", "-3"), ("€ 5", "5"), ("+7", "7"), (" .5 ", "0.5"),
    ("1,234,567", "1234567"), ("5 %", "5"), ("0.30", "3/10"),
])
def test_numbers_are_read_as_displayed(text, number):
    assert parse_number(text) == Fraction(number)


@pytest.mark.parametrize("text", ["", "%", "$", "-", ".", "1 2", "12,34", "1.2.3", "a1", "nan", "inf", "9" * 5000])
def test_other_texts_are_no_numbers(text):
    assert parse_number(text) is None


def test_texts_are_equal_without_case_and_surplus_white_space():
    assert same("  New   York", "new york")
    assert not same("New York", "NewYork")
    assert not same("12", "twelve")


CELLS = st.sampled_from(["1", "2", "2.0", "-3", "1,000", "$4", "5%", "0", "Rome", "oslo"])
TABLES = st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=3)
OPS = ["lookup", "filter", "compare", "count", "sum", "diff", "ratio", "argmax", "argmin", "conclude", "guess"]
RESULTS = st.one_of(CELLS, st.sampled_from(["<", "=", ">", "3", "-1", "0.5", "1|2", "Rome|oslo"]))


@st.composite
def chains(draw):
    table = draw(TABLES)
    chain = []
    for _ in range(draw(st.integers(0, 4))):
        cells = []
        for _ in range(draw(st.integers(0, 3))):
            row, column = draw(st.integers(0, len(table) - 1)), draw(st.integers(-1, 2))
            exists = 0 <= column < len(table[row])
            value = table[row][column] if exists and draw(st.booleans()) else draw(CELLS)
            cells.append((row, column, value))
        chain.append({"op": draw(st.sampled_from(OPS)), "cells": cells, "result": draw(RESULTS)})
    return table, chain, draw(RESULTS)


@given(chains())
def test_it_agrees_with_the_oracle(drawn):
    table, chain, answer = drawn
    steps = [TableStep(one["op"], [Cell(*cell) for cell in one["cells"]], one["result"]) for one in chain]
    assert step_scores(table, steps, answer) == oracle.critic(table, chain, answer)
