"""One task of a domain being played. A state is the calls so far; each call repeats them in the sandbox."""

import copy
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, get_type_hints

from hone.environments.contract import (
    Ask,
    EpisodeFailed,
    EpisodeLost,
    EpisodeOver,
    Message,
    Observation,
    Row,
    Transition,
)
from hone.environments.hashing import digest
from hone.environments.packages.calling import Runner, ToolsLost
from hone.environments.packages.package import WrongPackage
from hone.environments.tau2 import grading
from hone.environments.tau2.domain import ServiceDomain
from hone.environments.tau2.history import opening
from hone.environments.tau2.program import Call, CallFailed, play
from hone.environments.tau2.scripted_user import ScriptedUser
from hone.environments.tau2.talk import Participant, Said
from hone.environments.tau2.task import DomainTask
from hone.environments.tools import tool_call
from hone.spec.snapshots import WrongSnapshot, fields_of

USER = "user"
"""The role that is asked for a user's words."""
_LONGEST = 20_000
"""Characters of a tool's answer that are shown."""
_HANDS_OVER = "transfer_to"


@dataclass(frozen=True)
class DomainTerms:
    """How an episode is held."""

    turns: int  # most answers of the agent
    errors: int  # most failed calls
    shows_policy: bool
    grader: Mapping[str, Any]


@dataclass(frozen=True)
class _DomainState:
    hashes: tuple[str | None, ...]
    assertions: tuple[bool, ...]
    calls: tuple[Call, ...] = ()
    chain: str = ""  # hash of what the calls said
    texts: tuple[str, ...] = ()  # the agent's
    heard: tuple[str, ...] = ()  # who said what, for a judge
    turns: int = 0
    errors: int = 0
    ended: str = ""  # why the user left
    waits: bool = False  # for a model's words


class DomainEpisode:
    """An agent at work for a user."""

    def __init__(
        self, domain: ServiceDomain, task: DomainTask, runner: Runner, terms: DomainTerms, user: Participant,
    ) -> None:
        self._domain, self._task, self._runner, self._terms = domain, task, runner, terms
        self._user, self._fresh = user, user.snapshot()
        self._proof = domain.found.proofs[task.id]
        self._tools = [dict(tool) for tool in domain.found.tools]
        self._names = {tool["function"]["name"] for tool in self._tools}
        self._state = self._first()

    def reset(self) -> Observation:
        self._user.restore(self._fresh)
        self._state = self._first()
        said = opening(self._task, self._domain.found.policy if self._terms.shows_policy else "")
        history = self._task.state.message_history or []
        if history and history[-1].role != "assistant":
            return self._seen(said)  # it is the agent's turn
        if not history:
            return self._went_on(self._user.opening(), said, True).observation
        return self._went_on(self._user.hear(history[-1].content or "", self._leaves), said, True).observation

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the user has left, or the turns are used up")
        if self._state.waits:
            self._state = replace(self._state, waits=False)
            return self._went_on(self._user.answer(action), [], True)
        self._state = replace(self._state, turns=self._state.turns + 1)
        if tool_call(action) is not None:
            return self._used(action)
        text = action.strip()
        self._state = replace(self._state, texts=(*self._state.texts, text),
                              heard=(*self._state.heard, f"agent: {text}"))
        return self._went_on(self._user.hear(text, self._leaves), [], bool(text))

    def snapshot(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps({**asdict(self._state), "user": self._user.snapshot()}))
        return found

    def restore(self, snapshot: dict[str, Any]) -> None:
        state = fields_of(snapshot, {**get_type_hints(_DomainState), "user": dict[str, Any]})
        if state["waits"] and isinstance(self._user, ScriptedUser):
            raise WrongSnapshot("waits", True, "false, as no model speaks for this user")
        self._user.restore(state.pop("user"))
        self._state = _DomainState(**state)

    def fork(self) -> "DomainEpisode":
        user = copy.deepcopy(self._user)
        user.restore(self._fresh)
        other = DomainEpisode(self._domain, self._task, self._runner, self._terms, user)
        other.restore(self.snapshot())
        return other

    def state_hash(self) -> str:
        return digest({**self.snapshot(), "package": self._domain.digest, "task": self._task.id})

    def verify(self) -> float | None:
        """Return the product of the parts that a program decides, once the user has left; before that, 0."""
        return grading.product(self._task.criteria, self.parts()) if self._state.ended else 0.0

    def parts(self) -> dict[str, float]:
        """Return each part of the reward in the present state."""
        state, history = self._state, self._task.state.message_history or []
        calls = [(call.name, call.arguments) for one in history for call in one.tool_calls or []]
        texts = [one.content for one in history if one.role == "assistant" and one.content]
        return grading.parts(self._task.criteria, self._proof, state.hashes, state.assertions,
                             [*calls, *((name, arguments) for _, name, arguments in state.calls)],
                             [*texts, *state.texts])

    def close(self) -> None:
        """Nothing is kept elsewhere: each program makes the world anew."""

    def _first(self) -> _DomainState:
        return _DomainState(tuple(self._proof.start), tuple(self._proof.assertions))

    def _used(self, action: str) -> Transition:
        call, before = tool_call(action), self._state.hashes
        assert call is not None
        if call.tool is None:
            said = self._failed("Error: this is no tool call that could be read")
        else:
            said = self._called(("assistant", call.tool, call.arguments))
        seen = self._seen([{"role": "tool", "content": said[:_LONGEST] + "\n"}])
        return Transition(seen, self._over(), call.tool in self._names, effect=self._state.hashes != before)

    def _called(self, call: Call) -> str:
        """Make a call, and return what it says. Raises EpisodeLost and EpisodeFailed."""
        state = self._state
        try:
            found = play(self._runner, self._domain, self._task, [*state.calls, call])
        except CallFailed as failed:
            return self._failed(f"Error: the tool failed: {failed}")
        except ToolsLost as lost:
            raise EpisodeLost(f"the sandbox: {lost}") from lost
        except WrongPackage as wrong:
            raise EpisodeFailed(f"task {self._task.id}: {wrong}") from wrong
        if found.before != state.chain:
            raise EpisodeFailed(f"task {self._task.id}: the tools answered otherwise when the calls were repeated")
        self._state = replace(
            state, calls=(*state.calls, call), chain=found.after, hashes=found.hashes, assertions=found.assertions,
            errors=state.errors + found.failed)
        return found.said

    def _failed(self, said: str) -> str:
        self._state = replace(self._state, errors=self._state.errors + 1)
        return said

    def _went_on(self, turn: Said, said: list[Message], valid: bool) -> Transition:
        """Let the user act until it speaks, or a model has to be asked for its words."""
        while turn.calls:
            results = [self._called(("user", tool, arguments)) for tool, arguments in turn.calls]
            turn = self._user.saw(results, self._leaves)
        if turn.asks is not None:
            self._state = replace(self._state, waits=True)
            return Transition(replace(self._seen(said), ask=Ask(USER, [*turn.asks])), False, valid, effect=True)
        self._state = replace(self._state, ended=turn.ended, heard=(*self._state.heard, f"user: {turn.words}"))
        seen = self._seen([*said, {"role": "user", "content": turn.words + "\n"}])
        return Transition(seen, self._over(), valid, effect=True)

    def _leaves(self) -> bool:
        """Return whether a user that follows rules leaves: all that is checked holds, and did not at the beginning; or
        it was handed over.
        """
        first = grading.parts(self._task.criteria, self._proof, self._proof.start, self._proof.assertions, [], [])
        criteria, now = self._task.criteria, self.parts()
        handed_over = any(who == "assistant" and name.startswith(_HANDS_OVER) for who, name, _ in self._state.calls)
        return handed_over or (grading.product(criteria, now) > grading.product(criteria, first))

    def _over(self) -> bool:
        state, terms = self._state, self._terms
        used_up = state.turns >= terms.turns or state.errors >= terms.errors
        return not state.waits and (bool(state.ended) or used_up)

    def _seen(self, said: list[Message]) -> Observation:
        return Observation(said, self._item(), dict(self._terms.grader), self._terms.turns - self._state.turns,
                           self.state_hash(), self._tools)

    def _item(self) -> Row:
        state, over = self._state, self._over()
        limits = "max_turns" if state.turns >= self._terms.turns else "errors"
        judged = {"nl_assertions": "\n".join(self._task.criteria.nl_assertions or []),
                  "conversation": "\n".join(state.heard)} if self._task.needs_judge else {}
        return {"task": self._task.id, "domain": self._domain.name, "package": self._domain.digest,
                "components": self.parts(), "reason": state.ended or (limits if over else ""), "errors": state.errors,
                **judged, "verified": self.verify()}

