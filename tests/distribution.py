"""Which tests run in the same process when several run at a time (pytest -n 2 --dist loadscope)."""

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.acceptance.backends import NAMES

LONG = ("test_kills", "test_turns", "test_learning", "test_demo")


class ByStack(LoadScopeScheduling):
    """Keeps together what shares a dear start: the tests of a file, or those of a file on one back end."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        return f"{file} {next((name for name in NAMES if test.endswith(f'[{name}]')), '')}"


def longest_first(items: list[pytest.Item]) -> None:
    """Let the files that take minutes begin first, so that no process is left with one at the end."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
