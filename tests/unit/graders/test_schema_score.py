"""The schema score of trust-sql.md."""

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.graders.schema_score import Mode, Schema, schema_score
from tests.oracles import dual_track as oracle

GOLD = Schema.of(["orders", "customers"], {"orders": ["amount"], "customers": ["name"]})
PROPOSED = Schema.of(
    ["Orders", "customers", "ITEMS"], {"orders": ["id", "Amount"], "Customers": ["name"], "items": ["id"]})
NOTHING = Schema(frozenset(), frozenset())


@pytest.mark.parametrize(("mode", "expected"), [
    ("f1", 0.72), ("recall_then_precision", 0.566667), ("exact", 0), ("recall", 1), ("precision", 0.566667),
    ("recall_then_precision_strict", 0.1)])
def test_a3_worked_numbers(mode, expected):
    assert schema_score(PROPOSED, GOLD, mode) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("mode", get_args(Mode))
def test_the_gold_schema_itself_has_the_full_score(mode):
    assert schema_score(GOLD, GOLD, mode) == 1
    assert schema_score(NOTHING, NOTHING, mode) == 1


@pytest.mark.parametrize(("proposed", "gold", "expected"), [
    (NOTHING, GOLD, {"precision": 0, "recall": 0, "f1": 0, "recall_then_precision": 0}),
    (GOLD, NOTHING, {"precision": 0, "recall": 1, "f1": 0, "recall_then_precision": 0}),
])
def test_empty_sets(proposed, gold, expected):
    assert {mode: schema_score(proposed, gold, mode) for mode in expected} == expected


@pytest.mark.parametrize(("names", "expected"), [
    (10, 1), (11, 0.8), (12, 0.6), (14, 0.4), (16, 0.2), (17, 0.1), (18, 0.1)])
def test_strict_form_pays_precision_in_steps(names, expected):
    gold, proposed = (
        Schema(frozenset(map(str, range(count))), frozenset(map(str, range(count)))) for count in (10, names))
    assert schema_score(proposed, gold, "recall_then_precision_strict") == expected


@pytest.mark.parametrize(("extra", "expected"), [(2, 0.6), (1, 0.8)])
def test_strict_form_compares_with_a_tolerance(extra, expected):
    """Precision 0.8 and 0.9 in both sets, as sums that floating point may round below."""
    gold, proposed = (Schema(frozenset(map(str, range(n))), frozenset(map(str, range(n)))) for n in (10 - extra, 10))
    assert schema_score(proposed, gold, "recall_then_precision_strict") == expected


def test_a_missing_column_forfeits_the_precision():
    short = Schema(GOLD.tables, frozenset(["orders.amount"]))
    assert schema_score(short, GOLD, "recall_then_precision") == 0
    assert schema_score(short, GOLD, "precision") == 1


NAMES = st.frozensets(st.sampled_from("abcdefghijkl"), max_size=12)


@given(NAMES, NAMES, NAMES, NAMES)
def test_every_mode_agrees_with_the_oracle(tables, gold_tables, columns, gold_columns):
    for mode, (gold_t, gold_c) in itertools.product(
            get_args(Mode), [(gold_tables, gold_columns), (gold_tables & tables, gold_columns & columns)]):
        found = schema_score(Schema(tables, columns), Schema(gold_t, gold_c), mode)
        expected = oracle.schema_score(list(tables), list(gold_t), list(columns), list(gold_c), mode)
        assert found == pytest.approx(expected), mode
        assert 0 <= found <= 1
