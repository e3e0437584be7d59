"""Fixtures of all integration tests."""

from collections.abc import Iterator

import pytest

from tests.contract import watch


@pytest.fixture(scope="session", autouse=True)
def contract() -> Iterator[None]:
    """Hold every answer of a gateway against its OpenAPI document (tests.contract)."""
    with watch():
        yield
