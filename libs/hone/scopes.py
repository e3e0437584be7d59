"""The scopes of API keys: what a key may do. Each scope includes those before it."""

from collections.abc import Collection
from typing import Literal, get_args

Scope = Literal["read", "run", "admin"]
"""read looks; run makes and steers runs, models and datasets; admin governs keys, quotas, budgets and the audit log."""

SCOPES: tuple[Scope, ...] = get_args(Scope)


def includes(held: Collection[str], needed: Scope) -> bool:
    """Return whether a key that holds these scopes may do what `needed` allows."""
    return not set(held).isdisjoint(SCOPES[SCOPES.index(needed):])
