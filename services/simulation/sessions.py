"""Sessions: episodes in progress. A session that is not called for a while is forgotten."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hone import ids
from hone.api import trajectory_pb2
from hone.environments.contract import Episode, EpisodeOver, Transition
from hone.rpc.errors import InvalidField, NotFound, Refused

TTL_S = 600.0
"""Seconds that a session is kept after its last call."""


@dataclass
class Session:
    """An episode of a task, with the results of its steps from index `first` on."""

    task: trajectory_pb2.Task
    episode: Episode
    first: int = 0
    answers: list[Transition] = field(default_factory=list)
    tenant_id: str = ""  # who started it through the door; empty if a service did
    last_call: float = 0.0

    @property
    def next_index(self) -> int:
        return self.first + len(self.answers)

    def step(self, index: int, action: str) -> Transition:
        """Take step `index`, or return its stored result. Raises InvalidField and Refused."""
        if not self.first <= index <= self.next_index:
            raise InvalidField("index", index, f"{self.first} to {self.next_index}, the index of the next step")
        if index == self.next_index:
            self.answers.append(self._take(action))
        return self.answers[index - self.first]

    def _take(self, action: str) -> Transition:
        try:
            return self.episode.step(action)
        except EpisodeOver as error:
            raise Refused(str(error)) from error

    def fork(self) -> "Session":
        """Return an independent session in the same state."""
        return Session(self.task, self.episode.fork(), self.next_index)


class Sessions:
    """All sessions by id, the longest unused one first."""

    def __init__(self, ttl_s: float = TTL_S, clock: Callable[[], float] = time.monotonic) -> None:
        self.ttl_s, self._clock = ttl_s, clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, session: Session) -> str:
        """Add a session and return its id."""
        self._forget_expired()
        session_id = ids.new("ses")
        session.last_call = self._clock()
        self._sessions[session_id] = session
        return session_id

    def get(self, session_id: str, tenant_id: str = "") -> Session:
        """Return a session and renew its time to live. Raises NotFound."""
        session = self.find(session_id, tenant_id)
        if session is None:
            raise NotFound(f"session {session_id}: unknown here, or unused for {self.ttl_s:g} s")
        return session

    def find(self, session_id: str, tenant_id: str = "") -> Session | None:
        """Return a session and renew its time to live; None if it is unknown, or not the tenant's.

        Without a tenant, a service of the stack asks, which may use every session.
        """
        self._forget_expired()
        session = self._sessions.get(session_id)
        if session is None or tenant_id not in ("", session.tenant_id):
            return None
        session.last_call = self._clock()
        self._sessions.move_to_end(session_id)
        return session

    def close(self, session_ids: Iterable[str], tenant_id: str = "") -> None:
        """Forget sessions. Ids that are unknown, or not the tenant's, are ignored."""
        for session_id in session_ids:
            if self.find(session_id, tenant_id) is not None:
                del self._sessions[session_id]

    def _forget_expired(self) -> None:
        oldest = self._clock() - self.ttl_s
        while self._sessions and next(iter(self._sessions.values())).last_call < oldest:
            self._sessions.popitem(last=False)
