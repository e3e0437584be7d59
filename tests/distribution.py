"""Which tests run in the same process, and in which order, when two run at a time (pytest -n 2 --dist loadscope)."""

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

TWINS = ("test_backends", "test_fences", "test_kills")
"""Acceptance tests of the twin stacks (tests.acceptance.stacks): all that use one of the two run in one process."""
ALONE = ("test_demo", "test_ahead", "test_ranks", "test_traces", "test_mutations")
"""Acceptance tests that start stacks of their own."""
PLAIN = ("test_turns", "test_learning", "test_adapters", "test_engines")
"""The longest acceptance tests of the plain stack."""


class ByStack(LoadScopeScheduling):
    """Keeps together the tests that share a slow start: those of a file, or of a shared stack, on one back end."""

    def _split_scope(self, nodeid: str) -> str:
        file, backend = nodeid.partition("::")[0], _backend(nodeid)
        return f"{'twins' if _place(file) == 0 else file} {backend}"


def in_order(items: list[pytest.Item]) -> None:
    """Sort tests: twin stacks first, then stacks of a test's own, then the others, the longest files first."""
    items.sort(key=lambda item: (_place(item.nodeid), _backend(item.nodeid) if _place(item.nodeid) == 0 else ""))


def _place(nodeid: str) -> int:
    """Return where a test's file stands in the order: 0 for the twin stacks."""
    folder, _, name = nodeid.partition("::")[0].removesuffix(".py").rpartition("/")
    order = ("", *ALONE, *PLAIN)
    if not folder.endswith("tests/acceptance"):
        return len(order)
    return 0 if name in TWINS else order.index(name) if name in order else len(order)


def _backend(nodeid: str) -> str:
    found = re.search(r"[\[-](embedded|servers)(-\d+)?\]$", nodeid)
    return found[1] if found else ""
