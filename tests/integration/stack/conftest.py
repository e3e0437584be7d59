"""Stacks whose services are stand-ins that only listen, for tests of the supervision."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hone.stack.embedded import Stack
from hone.stack.processes import KINDS
from tests.contract import contract  # noqa: F401  # for every test of this folder
from tests.servers import stub

STAND_INS = {kind: [sys.executable, stub.__file__] for kind in KINDS}
NONE = dict.fromkeys(KINDS, 0)


@pytest.fixture
def make_stack() -> Iterator[Callable[..., Stack]]:
    """Return a function that makes stacks of stand-ins; all are stopped at the end."""
    made: list[Stack] = []

    def make(state: Path, **options: Any) -> Stack:
        made.append(Stack(state, **{"commands": STAND_INS, **options}))
        return made[-1]

    yield make
    for stack in made:
        stack.stop()
