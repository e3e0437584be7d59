"""The graph of a task's rollouts: classes of turns are its nodes, and each rollout is a path through them.

A reconstruction. Paths may revisit a node: no metric needs a graph without cycles.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from hone.algorithms.topocurate.turns import Rollout, Thresholds, classes

START, STOP = -1, -2
"""The node at which every path begins, and the one at which it ends."""

Edge = tuple[int, int]


@dataclass(frozen=True)
class Graph:
    """Paths of rollouts over the classes of their turns."""

    paths: Sequence[Sequence[int]]  # of each rollout: START, the class of each turn, STOP
    successes: Sequence[bool]
    smoothing: float = 1.0

    @classmethod
    def of(cls, rollouts: Sequence[Rollout], thresholds: Thresholds, smoothing: float = 1.0) -> "Graph":
        """Return the graph of a task's rollouts."""
        paths = [[START, *own, STOP] for own in classes(rollouts, thresholds)]
        return cls(paths, [rollout.success for rollout in rollouts], smoothing)

    @property
    def pass_rate(self) -> float:
        """The share of rollouts that succeeded."""
        return sum(self.successes) / max(1, len(self.successes))

    @cached_property
    def visits(self) -> Mapping[int, int]:
        """How many rollouts pass each node at least once."""
        return Counter(node for path in self.paths for node in set(path))

    @cached_property
    def won(self) -> Mapping[int, int]:
        """How many successful rollouts pass each node."""
        return Counter(node for path in self.successful for node in set(path))

    @cached_property
    def edges(self) -> Mapping[Edge, int]:
        """How many rollouts pass each edge at least once."""
        return Counter(edge for path in self.paths for edge in set(steps(path)))

    @cached_property
    def won_edges(self) -> Mapping[Edge, int]:
        """How many successful rollouts pass each edge."""
        return Counter(edge for path in self.successful for edge in set(steps(path)))

    @property
    def successful(self) -> list[Sequence[int]]:
        """The paths of successful rollouts."""
        return [path for path, success in zip(self.paths, self.successes, strict=True) if success]

    def potential(self, node: int) -> float:
        """Return (s + k p) / (n + k) of a node with n visits, s of them successful."""
        return (self.won.get(node, 0) + self.smoothing * self.pass_rate) / (self.visits[node] + self.smoothing)

    @cached_property
    def onward(self) -> Mapping[int, set[int]]:
        """The nodes that follow each node in some rollout."""
        return _onward(self.edges)

    @cached_property
    def won_onward(self) -> Mapping[int, set[int]]:
        """The nodes that follow each node in some successful rollout."""
        return _onward(self.won_edges)

    @cached_property
    def shortest(self) -> int:
        """Number of edges of the shortest path that takes edges of successful rollouts alone; 0 without any."""
        distance, waiting = {START: 0}, deque([START])
        while waiting:
            node = waiting.popleft()
            for after in self.won_onward.get(node, set()):
                if after not in distance:
                    distance[after] = distance[node] + 1
                    waiting.append(after)
        return distance.get(STOP, 0)


def steps(path: Sequence[int]) -> list[Edge]:
    """Return the edges of a path in order."""
    return list(pairwise(path))


def _onward(edges: Mapping[Edge, int]) -> Mapping[int, set[int]]:
    found: dict[int, set[int]] = {}
    for node, after in edges:
        found.setdefault(node, set()).add(after)
    return found
