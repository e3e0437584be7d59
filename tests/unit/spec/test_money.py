"""Money in words."""

import pytest

from hone.spec.money import money


@pytest.mark.parametrize(("amount", "words"), [
    (5, "5.00 EUR"), (0, "0.00 EUR"), (1234.567, "1234.57 EUR"), (0.004, "0.004 EUR"), (0.00001234, "1.2e-05 EUR")])
def test_money(amount: float, words: str) -> None:
    assert money(amount, "EUR") == words
