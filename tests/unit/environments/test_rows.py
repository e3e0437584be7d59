"""Rows of a dataset: which are tasks of an environment, and the message about bad rows."""

from typing import Any

import pytest

from hone.environments.contract import WrongParams
from hone.environments.rows import Sieve

Row = dict[str, Any]
GOOD: Row = {"prompt": "how many?", "database": "CREATE TABLE t (a);", "answer": "0"}


def sifted(kind: str, rows: list[Row]) -> tuple[list[bool], Sieve]:
    sieve = Sieve(kind, {})
    return [sieve.content_hash(row) is not None for row in rows], sieve


def test_a_row_passes_by_the_types_of_its_keys_and_whether_they_are_empty() -> None:
    passed, sieve = sifted("sqlite", [{**GOOD, "answer": 3}, GOOD, {**GOOD, "answer": ""}, {**GOOD, "database": None}])
    assert passed == [False, True, False, False]
    assert (sieve.rows, sieve.bad) == (4, 3)
    assert [(row.number, row.key, row.error.found, row.error.expected) for row in sieve.first] == [
        (1, "answer", 3, "a text that is not empty"), (3, "answer", "", "a text that is not empty"),
        (4, "database", None, "a text that is not empty")]
    assert sieve.message("mine").startswith(
        "dataset 'mine': 3 of 4 rows are left out: row 1: item.answer: found 3, expected a text that is not "
        "empty; row 3: ")


def test_no_script_is_carried_out() -> None:
    passed, _ = sifted("sqlite", [{**GOOD, "database": "no SQL at all"}])
    assert passed == [True]


def test_a_row_of_another_environment_needs_what_that_one_does() -> None:
    rows: list[Row] = [{"prompt": "1+1=", "answer": 2}, {"messages": [{"role": "user", "content": "1+1="}]}]
    assert sifted("dataset", rows)[0] == [True, True]
    assert sifted("verification", rows)[0] == [True, False]


def test_the_first_few_are_named_and_cut_short() -> None:
    _, sieve = sifted("sqlite", [{**GOOD, "answer": ["x" * 1000]}] * 9)
    assert (sieve.bad, [row.number for row in sieve.first]) == (9, [1, 2, 3, 4, 5])
    assert sieve.message("mine").endswith("; …")
    assert len(sieve.message("mine")) < 1600


def test_wrong_parameters_are_no_rows_fault() -> None:
    with pytest.raises(WrongParams, match=r"params\.turns"):
        Sieve("sqlite", {"turns": 0})


def test_rows_that_the_policys_template_cannot_show_are_left_out_with_the_reason() -> None:
    question = {"role": "user", "content": "1+1="}
    tool = {"type": "function", "function": {"name": "add"}}
    rows: list[Row] = [
        {"messages": [question]}, {"messages": [{"role": "system", "content": "Be brief."}, question]},
        {"messages": [question], "tools": [tool]}, {"prompt": "1+1="}]
    sieve = Sieve("dataset", {}, lambda: {"system": "system: refused", "tools": "tools: dropped"})
    assert [sieve.content_hash(row) is not None for row in rows] == [True, False, False, True]
    assert sieve.message("mine") == (
        "dataset 'mine': 2 of 4 rows are left out: row 2: item.messages: found 'system', expected system: refused; "
        "row 3: item.tools: found 'tools', expected tools: dropped")
