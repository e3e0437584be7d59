"""The stacks that acceptance tests share.

A test process keeps one of them open at a time, because an idle stack takes processor time. Nobody repairs a shared
stack: a test that stops a process must let it go on in `finally`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance import backends
from tests.acceptance.scene import Scene, open_scene
from tests.acceptance.stubs import forking


@dataclass(frozen=True)
class Kind:
    """How a shared stack is started. `{state}` in a setting stands for the stack's directory."""

    name: str
    settings: Mapping[str, Any]
    counts: Mapping[str, int]


GRACE_S, LEASE_S = 15.0, 2.0
MEMORY = "rollout=600,simulation=500"
"""Far more than a toy run needs; test_memory.py exceeds it."""
PLAIN = Kind("plain", {"lease_s": 4.0, "sweep_s": 0.2, "memory_mb": MEMORY, "harnesses": forking.NAME},
             {"rollout": 2})
TWINS = Kind(
    "twins", {"lease_s": LEASE_S, "sweep_s": 0.5, "orphan_grace_s": GRACE_S,
              "sinks": "tensorboard://{state}/tensorboard"}, {"driver": 2, "trainer": 2, "rollout": 2})
"""Two of each process that holds leases, and short leases: when one is killed or frozen, the other takes over."""


class SharedStacks:
    """Starts shared stacks below a directory, and stops the open one before it starts another."""

    def __init__(self, directory: Path, fixture: Callable[[str], Any]) -> None:
        self._directory, self._fixture = directory, fixture
        self._open: tuple[Kind, Scene] | None = None
        self._started = 0

    def scene(self, kind: Kind, backend: str = "embedded") -> Scene:
        """Return the scene of a kind on a back end; start its stack unless it is the open one."""
        if self._open and (self._open[0], self._open[1].backend.name) == (kind, backend):
            return self._open[1]
        self.close()
        chosen = backends.choose(backend, self._fixture)
        self._started += 1
        state = self._directory / f"{kind.name}-{self._started}"
        settings = {name: str(value).format(state=state) for name, value in kind.settings.items()}
        scene = open_scene(state, {**settings, **chosen.settings}, kind.counts, backend=chosen)
        self._open = kind, scene
        return scene

    def close(self) -> None:
        """Stop the open stack, if there is one."""
        if self._open:
            self._open[1].stack.stop()
            self._open = None
