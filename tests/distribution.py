"""Which tests run in the same process, and in which order, when two run at a time (pytest -n 2 --dist loadscope)."""

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

TWINS = ("test_backends", "test_fences", "test_kills")
"""Acceptance tests of the twin stacks (tests.acceptance.stacks)."""
ALONE = ("test_demo", "test_ahead", "test_ranks", "test_traces", "test_impostors", "test_backup", "test_mutations")
"""Acceptance tests that start stacks of their own."""
PLAIN = ("test_turns", "test_learning", "test_adapters", "test_engines")
"""The longest acceptance tests of the plain stack."""
TOGETHER = ("tests/integration/foreign", "tests/integration/inference")
"""Folders whose files share a stack or a process."""


class ByStack(LoadScopeScheduling):
    """Keeps together tests that share a slow start: those of a file or folder, of the twin stack, or of the servers."""

    def _split_scope(self, nodeid: str) -> str:
        if _place(nodeid) == 0:
            return "servers" if _on_servers(nodeid) else "twins"
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def in_order(items: list[pytest.Item]) -> None:
    """Sort tests: twin stacks and servers first, then stacks of a test's own, then others; the longest files first."""
    items.sort(key=lambda item: (_place(item.nodeid), _place(item.nodeid) == 0 and _on_servers(item.nodeid)))


def _place(nodeid: str) -> int:
    """Return the position of a test's file in the order: 0 for the twin stacks, and for all acceptance on servers."""
    folder, _, name = nodeid.partition("::")[0].removesuffix(".py").rpartition("/")
    order = ("", *ALONE, *PLAIN)
    if not folder.endswith("tests/acceptance"):
        return len(order)
    if name in TWINS or _on_servers(nodeid):
        return 0
    return order.index(name) if name in order else len(order)


def _on_servers(nodeid: str) -> bool:
    return re.search(r"[\[-]servers(-\d+)?\]$", nodeid) is not None
