"""Errors after which the items of a batch are sent again alone, because one item may be at fault."""

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata

from services.rollout.retry import invalid


@pytest.mark.parametrize(("code", "one_items"), [
    ("INVALID_ARGUMENT", True), ("FAILED_PRECONDITION", True), ("NOT_FOUND", True), ("DATA_LOSS", True),
    ("UNAVAILABLE", False), ("DEADLINE_EXCEEDED", False), ("INTERNAL", False),
])
def test_a_version_that_is_refused_is_no_reason_for_its_neighbours_to_wait(code: str, one_items: bool) -> None:
    assert invalid(AioRpcError(grpc.StatusCode[code], Metadata(), Metadata(), "why", "")) == one_items
    assert not invalid(OSError())
