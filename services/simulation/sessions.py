"""Sessions: episodes in progress. A session that is not called for a while is forgotten."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hone import ids
from hone.api import trajectory_pb2
from hone.environments.contract import (
    Elsewhere,
    Episode,
    EpisodeFailed,
    EpisodeLost,
    EpisodeOver,
    Observation,
    Transition,
    WrongParams,
)
from hone.rpc.errors import InvalidField, NotFound, OverBudget, Refused

TTL_S = 600.0
"""Seconds that a session is kept after its last call."""
MOST = 4096


@dataclass
class Session:
    """An episode of a task, with the results of its steps from index `first` on."""

    task: trajectory_pb2.Task
    episode: Episode
    first: int = 0
    answers: list[Transition] = field(default_factory=list)
    opening: Observation | None = None  # what was observed before step `first`
    tenant_id: str = ""  # who started it through the door; empty if a service did
    last_call: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)  # held by a step: steps of some episodes wait

    @property
    def next_index(self) -> int:
        return self.first + len(self.answers)

    @property
    def seen(self) -> Observation | None:
        """Last observation; None where nothing was observed since a snapshot was restored."""
        return self.answers[-1].observation if self.answers else self.opening

    @property
    def done(self) -> bool:
        """Whether the last step that was taken here ended the episode."""
        return bool(self.answers) and self.answers[-1].done

    def step(self, index: int, action: str) -> Transition:
        """Take step `index`, or return its stored result. Raises InvalidField, Refused and EpisodeLost."""
        with self.lock:
            if not self.first <= index <= self.next_index:
                raise InvalidField("index", index, f"{self.first} to {self.next_index}, the index of the next step")
            if index == self.next_index:
                self.answers.append(self._take(action))
            return self.answers[index - self.first]

    def _take(self, action: str) -> Transition:
        try:
            return self.episode.step(action)
        except (EpisodeOver, EpisodeFailed) as error:
            raise Refused(str(error)) from error

    def fork(self) -> "Session":
        """Return an independent session in the same state."""
        with self.lock:
            try:
                return Session(self.task, self.episode.fork(), self.next_index, opening=self.seen)
            except (EpisodeLost, EpisodeFailed, WrongParams) as error:  # a new session finds out what it is
                raise NotFound(f"its world cannot be forked: {error}") from error

    def close(self) -> None:
        """Let a world elsewhere go, once its last step has ended."""
        if isinstance(self.episode, Elsewhere):
            with self.lock:
                self.episode.close()


class Beginnings:
    """The sessions that one call begins: all of them are kept, or all let go, also those that begin after that."""

    def __init__(self) -> None:
        self._begun, self._given_up, self._lock = list[Session](), False, threading.Lock()

    def add(self, session: Session) -> Session:
        """Return a session that has begun. One that begins too late is closed."""
        with self._lock:
            if not self._given_up:
                self._begun.append(session)
                return session
        session.close()
        return session

    def give_up(self) -> None:
        """Close all, because the call failed."""
        with self._lock:
            self._given_up, begun = True, self._begun
        for session in begun:
            session.close()


class Sessions:
    """All sessions by id, the longest unused one first. A tenant that calls through the door has `most` of them."""

    def __init__(
        self, ttl_s: float = TTL_S, clock: Callable[[], float] = time.monotonic, most: int = MOST,
    ) -> None:
        self.ttl_s, self._clock, self._most = ttl_s, clock, most
        self.forgotten: Callable[[Session], None] = Session.close
        """Work on a session that is forgotten."""
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._held = Counter[str]()  # by tenant

    def __len__(self) -> int:
        return len(self._sessions)

    def expect_room(self, tenant_id: str, more: int = 1) -> None:
        """Raise OverBudget if a tenant would have too many sessions with so many more. A service may have any number.
        """
        self._forget_expired()
        if tenant_id and self._held[tenant_id] + more > self._most:
            raise OverBudget(f"sessions: found {more} beside {self._held[tenant_id]} that the tenant has, expected at "
                             f"most {self._most} in all (HONE_TENANT_SESSIONS); Close those that are not used any more")

    def open(self, session: Session) -> str:
        """Add a session and return its id. Raises OverBudget."""
        self.expect_room(session.tenant_id)
        session_id = ids.new("ses")
        session.last_call = self._clock()
        self._sessions[session_id] = session
        self._held[session.tenant_id] += 1
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
                self._forget(session_id)

    def _forget_expired(self) -> None:
        oldest = self._clock() - self.ttl_s
        while self._sessions and next(iter(self._sessions.values())).last_call < oldest:
            self._forget(next(iter(self._sessions)))

    def _forget(self, session_id: str) -> None:
        session = self._sessions.pop(session_id)
        tenant_id = session.tenant_id
        self._held[tenant_id] -= 1
        if not self._held[tenant_id]:
            del self._held[tenant_id]
        self.forgotten(session)
