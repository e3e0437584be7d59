"""Requests whose samples have no slot yet, first come first served."""

from collections import deque
from dataclasses import dataclass

from services.inference.requests import Request


@dataclass
class _Waiting:
    request: Request
    first: int  # index of its first sample without a slot


class Queue:
    """Waiting samples in order of arrival; a request leaves when its last sample has a slot."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()

    @property
    def waiting(self) -> int:
        """Number of waiting samples."""
        return sum(entry.request.n - entry.first for entry in self._waiting)

    @property
    def pinned(self) -> bool:
        """Whether a waiting request insists on a version."""
        return any(entry.request.version_id for entry in self._waiting)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, request: Request) -> None:
        """Put all samples of a request at the end."""
        self._waiting.append(_Waiting(request, 0))

    def take(self, samples: int) -> list[tuple[Request, int, int]]:
        """Take up to `samples` samples out: (request, first sample, how many) each."""
        taken = []
        while samples and self._waiting:
            entry = self._waiting[0]
            count = min(samples, entry.request.n - entry.first)
            taken.append((entry.request, entry.first, count))
            entry.first += count
            samples -= count
            if entry.first == entry.request.n:
                self._waiting.popleft()
        return taken

    def drop(self, request: Request) -> range:
        """Take every waiting sample of a request out and return their indexes."""
        for entry in self._waiting:
            if entry.request is request:
                self._waiting.remove(entry)
                return range(entry.first, request.n)
        return range(0)
