"""Episodes under way, forgotten when nobody calls for a while."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hone import ids
from hone.environments.contract import Episode, EpisodeOver, Transition
from hone.rpc.errors import InvalidField, NotFound, Refused

TTL_S = 600.0


@dataclass
class Session:
    """An episode, and the answer to each of its steps so far."""

    episode: Episode
    last_call: float
    answers: list[Transition] = field(default_factory=list)


class Sessions:
    """Sessions by id, the longest unused first."""

    def __init__(self, ttl_s: float = TTL_S, clock: Callable[[], float] = time.monotonic) -> None:
        self.ttl_s, self._clock = ttl_s, clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, episode: Episode) -> str:
        """Keep an episode and return the id of its session."""
        self._forget_expired()
        session_id = ids.new("ses")
        self._sessions[session_id] = Session(episode, self._clock())
        return session_id

    def step(self, session_id: str, index: int, action: str) -> Transition:
        """Take step `index`, or return its stored answer. Raises NotFound, InvalidField and Refused."""
        answers = self._used(session_id).answers
        if not 0 <= index <= len(answers):
            raise InvalidField("index", index, f"at most {len(answers)}, the index of the session's next step")
        if index == len(answers):
            answers.append(self._taken(session_id, action))
        return answers[index]

    def close(self, session_ids: Iterable[str]) -> None:
        """Forget sessions; unknown ones are forgotten already."""
        for session_id in session_ids:
            self._sessions.pop(session_id, None)

    def _taken(self, session_id: str, action: str) -> Transition:
        try:
            return self._sessions[session_id].episode.step(action)
        except EpisodeOver as error:
            raise Refused(f"session {session_id}: {error}") from error

    def _used(self, session_id: str) -> Session:
        self._forget_expired()
        if session_id not in self._sessions:
            raise NotFound(f"session {session_id}: unknown here, or unused for {self.ttl_s:g} s")
        session = self._sessions[session_id]
        session.last_call = self._clock()
        self._sessions.move_to_end(session_id)
        return session

    def _forget_expired(self) -> None:
        oldest = self._clock() - self.ttl_s
        while self._sessions and next(iter(self._sessions.values())).last_call < oldest:
            self._sessions.popitem(last=False)
