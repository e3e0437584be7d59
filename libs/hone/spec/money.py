"""Money in words."""


def money(amount: float, currency: str) -> str:
    """Return an amount as people read it: two decimals, more only below a cent."""
    return f"{amount:.2f} {currency}" if amount == 0 or amount >= 0.01 else f"{amount:.2g} {currency}"
