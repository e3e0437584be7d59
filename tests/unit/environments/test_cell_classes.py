"""Cells by the class of their column: scaleenv.md, edge cases; stage-claw.md, normal form."""

from typing import Any

import pytest

from hone.environments.cell_classes import hard_equal, semantic_equal


@pytest.mark.parametrize(("found", "expected", "equal"), [
    (1, 1, True), (1, 1.0, True), (1, "1", False), (True, 1, True), ("paid", "Paid", False), ("a", "a", True),
    (0.1 + 0.2, 0.3, True), (1.0 + 9e-7, 1.0, True), (1.0 + 2e-6, 1.0, False), (1e9 + 900, 1e9, True),
    (1e-9, 0.0, True), (2**60, 2**60 + 1, False), (19.5, "19.50", True),
    (None, None, True), (None, 0, False), ("", None, False), (float("nan"), None, True), (float("nan"), 1.0, False),
    ("2026-03-01T10:00:00+02:00", "2026-03-01 08:00", True), ("2026-03-01T10:00:00Z", "2026-03-01T10:00:01Z", False),
    ("2026-99-01T10:00", "2026-99-01 10:00", False), ("0001-01-01T00:00+14:00", "0001-01-01 00:00", False),
    ([1, {"a": None}], [1, {"a": None}], True), ([1], [2], False),
])
def test_hard_cells_are_equal_as_numbers_texts_and_moments(found: Any, expected: Any, equal: bool) -> None:
    assert hard_equal(found, expected) is equal


@pytest.mark.parametrize(("found", "expected", "equal"), [
    ("call  the\nbank", "call the bank", True), ("the bank, call", "call the bank,", True),
    ("Zu\u0308rich", "Z\u00fcrich", True), ("call the bank", "write to the shop", False), ("", "x", False),
    (None, "x", False), (2, 2.0, True),
])
def test_semantic_cells_say_the_same(found: Any, expected: Any, equal: bool) -> None:
    assert semantic_equal(found, expected) is equal


def test_a_part_of_the_words_is_enough_only_by_the_set_of_tokens() -> None:
    assert semantic_equal("call", "call the bank now")
    assert not semantic_equal("call", "call the bank now", "token_sort_ratio")
