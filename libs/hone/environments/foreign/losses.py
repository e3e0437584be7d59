"""Steps at which worlds were lost. An action that ends its world each time would be repeated for ever."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from hone.environments.contract import EpisodeFailed, EpisodeLost

MOST = 24
"""Losses at one step, in all samples that take it, after which it fails. A group's samples may take the same step."""
_KEPT = 4096


class Losses:
    """Losses by the step, a hash of state and action."""

    def __init__(self) -> None:
        self._counts, self._lock = OrderedDict[str, int](), Lock()

    @contextmanager
    def counted(self, step: str) -> Iterator[None]:
        """Take a step inside. Raises EpisodeFailed in place of a loss too many."""
        try:
            yield
        except EpisodeLost as lost:
            if self._lost(step) >= MOST:
                raise EpisodeFailed(f"the world was lost {MOST} times at this action: {lost}") from lost
            raise
        with self._lock:
            self._counts.pop(step, None)

    def _lost(self, step: str) -> int:
        with self._lock:
            count = self._counts[step] = self._counts.pop(step, 0) + 1
            while len(self._counts) > _KEPT:
                self._counts.popitem(last=False)
        return count


LOSSES = Losses()
