"""Amounts on the command line."""

import pytest

from hone.cli.amounts import amount
from hone.spec.problems import Invalid


@pytest.mark.parametrize(("text", "number"), [
    ("none", None), ("2", 2), ("1e9", 1_000_000_000), ("9007199254740993", 9007199254740993), ("2.5", 2.5),
    ("-1", -1),
])
def test_numbers_and_no_limit(text: str, number: float | None) -> None:
    found = amount("budget", text)
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize("text", ["many", "", "nan", "inf"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"budget: found .*expected a number, or none"):
        amount("budget", text)
