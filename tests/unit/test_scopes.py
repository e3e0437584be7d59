"""Each scope includes those before it."""

import pytest

from hone.scopes import Scope, includes


@pytest.mark.parametrize(("held", "needed", "allowed"), [
    (["read"], "read", True), (["read"], "run", False), (["run"], "read", True), (["run"], "admin", False),
    (["admin"], "run", True), (["read", "run"], "run", True), ([], "read", False),
])
def test_includes(held: list[str], needed: Scope, allowed: bool) -> None:
    assert includes(held, needed) is allowed
