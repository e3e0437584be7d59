"""An episode whose tools' results have noise. Its state and its score are those of the clean one.

After AgentNoiseBench, arXiv 2602.11348, but for this: a call that fails is not carried out. The released code fails
calls afterwards, so that a repeated one takes effect twice.
"""

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import Field

from hone.environments.contract import (
    Ask,
    Elsewhere,
    Episode,
    Message,
    Observation,
    TakesBack,
    Transition,
    WrongParams,
)
from hone.environments.hashing import digest
from hone.environments.noise import parts, written
from hone.environments.noise.schedule import Injected, Schedule
from hone.environments.noise.tool_noise import MOST_BYTES, RULES
from hone.environments.noise.user_noise import USER_RULES, guideline
from hone.environments.tools import Examinable, Tool, ToolCall, tool_call
from hone.spec.noise import LOSES, QUOTAS, USERS, NoiseType, TaskNoise
from hone.spec.parameters import Strict
from hone.spec.snapshots import fields_of, state_of

REPAIR = "repair"
_USER = "user"
KEY = "noise"
"""Key of what a snapshot holds beside the clean episode's own."""


class Repair(Strict):
    """Report a tool whose results seem wrong or incomplete, or that fails. It works properly afterwards."""

    tool: str = Field(description="Name of the tool.")


@dataclass(frozen=True)
class _Awaited:
    """A result that waits for a model's words."""

    taken: Transition  # without noise
    tool: str
    action: str
    place: int  # of the message that is changed
    refused: tuple[tuple[str, str], ...] = ()  # words, with the reason why they cannot stand for the result


@dataclass(frozen=True)
class _NoiseState:
    step: int = 0  # steps that noise could have struck
    injected: tuple[Injected, ...] = ()
    repaired: tuple[str, ...] = ()
    awaited: _Awaited | None = None


_OWN: dict[str, Any] = {"step": int, "injected": tuple[Injected, ...], "repaired": tuple[str, ...],
                        "seen": dict[str, Any] | None, "awaited": dict[str, Any] | None}


class NoisyEpisode:
    """Wraps an episode that has been made and not been reset. Raises WrongParams where the noise leaves no way."""

    def __init__(self, inner: Episode, noise: TaskNoise) -> None:
        self.inner, self._noise, self._state = inner, noise, _NoiseState()
        self._seen: Observation | None = None

    def reset(self) -> Observation:
        self._state, seen = _NoiseState(), self.inner.reset()
        _expect_room(self._noise, seen.turns_left)
        return self._shown(seen)

    def step(self, action: str) -> Transition:
        if self._state.awaited is not None:
            return self._passed(self._heard(self._state.awaited, action))
        call, seen = tool_call(action), self._seen
        if call is not None and call.tool == REPAIR and self._repairs(seen):
            return self._repair(call)
        tool = _tool(action, call, seen)
        if self._noise.type in USERS:
            return self._of_user(action, call is not None and call.tool in _names(seen))
        if tool is None:
            return self._passed(self.inner.step(action))
        step, state = self._state.step + 1, self._state
        self._state = replace(state, step=step)
        strikes = tool not in state.repaired and Schedule.of(self._noise).strikes(step, tool, state.injected)
        if strikes and self._noise.type == "failure":
            return self._failed(tool, action)
        taken = self.inner.step(action)
        return self._passed(self._changed(taken, tool, action) if strikes else taken)

    def snapshot(self) -> dict[str, Any]:
        state = self._state
        own = {"step": state.step, "repaired": list(state.repaired),
               "injected": [asdict(one) for one in state.injected], "seen": asdict(self._seen) if self._seen else None,
               "awaited": asdict(state.awaited) if state.awaited else None}
        return {**self.inner.snapshot(), KEY: own}

    def restore(self, snapshot: dict[str, Any]) -> None:
        own = fields_of(snapshot[KEY], _OWN, optional=["awaited"])
        self.inner.restore({name: value for name, value in snapshot.items() if name != KEY})
        self._state = _NoiseState(own["step"], own["injected"], own["repaired"],
                                  _awaited(own["awaited"]) if own.get("awaited") else None)
        self._seen = state_of(Observation, own["seen"]) if own["seen"] else None

    def fork(self) -> "NoisyEpisode":
        other = type(self)(self.inner.fork(), self._noise)
        other._state, other._seen = self._state, self._seen
        return other

    def state_hash(self) -> str:
        """Return the clean episode's hash until noise or a repair has come."""
        clean, state = self.inner.state_hash(), self._state
        if not state.injected and not state.repaired and state.awaited is None:
            return clean
        own = {name: value for name, value in asdict(state).items() if name != "awaited" or value is not None}
        return digest({"clean": clean, **own})

    def verify(self) -> float | None:
        return self.inner.verify()

    def examination_tools(self) -> Mapping[str, Tool]:
        return self.inner.examination_tools() if isinstance(self.inner, Examinable) else {}

    def _repairs(self, seen: Observation | None) -> bool:
        return self._noise.repair and self._noise.budget != 0 and seen is not None and bool(_names(seen))

    def _repair(self, call: ToolCall) -> Transition:
        """Answer a call of the tool that ends the noise of another one. The clean episode does not see it."""
        names = _names(self._seen)
        tool = call.arguments.get("tool")
        known = tool in names
        if known:
            self._state = replace(self._state, repaired=tuple(sorted({*self._state.repaired, str(tool)})))
        said = f"{tool} works properly now." if known else f"error: no tool {tool!r}; there are {', '.join(names)}"
        return Transition(self._again(said), done=False, valid=known, effect=False)

    def _failed(self, tool: str, action: str) -> Transition:
        said = RULES["failure"]("", action, self._draws())
        assert said is not None
        self._inject(tool)
        return Transition(self._again(said), done=False, valid=True, effect=False, injection=self._record(None, said))

    def _of_user(self, action: str, calls_tool: bool) -> Transition:
        """Take a step, and change what the user says: by rules, or by a guideline for the model that speaks for it."""
        spoken = self._seen is not None and self._seen.ask is not None
        taken = self.inner.step(action)
        if taken.observation.ask is not None:
            return self._passed(_guided(taken, self._noise))
        if spoken or calls_tool or taken.done:
            return self._passed(taken)
        self._state = replace(self._state, step=self._state.step + 1)
        strikes = Schedule.of(self._noise).strikes(self._state.step, _USER, self._state.injected)
        changed = self._changed(taken, _USER, action) if strikes else taken
        if changed.injection is not None and self._noise.type == "user_ambiguity" and isinstance(self.inner, TakesBack):
            self.inner.take_back()
        return self._passed(changed)

    def _changed(self, taken: Transition, tool: str, action: str) -> Transition:
        """Return a result with noise, if this result may have it and the noise finds something to change."""
        place = result_place(taken, self._noise.type)
        if place is None:
            return taken
        if self._noise.written:
            return self._asked(_Awaited(taken, tool, action, place))
        original = taken.observation.messages[place]["content"]
        said = self._noised(original, action)
        if said is None or said == original or not _same_form(original, said):
            return taken
        self._inject(tool)
        return replace(_saying(taken, place, said), injection=self._record(original, said))

    def _asked(self, awaited: _Awaited) -> Transition:
        """Return the step's result without what was said, and ask the model that writes noise for it."""
        self._state, taken = replace(self._state, awaited=awaited), awaited.taken
        result = taken.observation.messages[awaited.place]["content"]
        asks = Ask(written.NOISER, written.messages(
            self._noise.type, result, awaited.action, awaited.refused, self._noise.guideline))
        asking = replace(taken, observation=replace(taken.observation, messages=[], ask=asks))
        return _unpaid(asking) if awaited.refused else asking

    def _heard(self, awaited: _Awaited, words: str) -> Transition:
        """Return the awaited result as a model wrote it; without noise where its words were refused too often."""
        original = awaited.taken.observation.messages[awaited.place]["content"]
        try:
            said = written.read(self._noise.type, original, words)
        except written.Unfit as unfit:
            refused = (*awaited.refused, (words, str(unfit)))
            if len(refused) <= written.RETRIES:
                return self._asked(replace(awaited, refused=refused))
            self._state = replace(self._state, awaited=None)
            failed = {"type": self._noise.type, "step": self._state.step, "tool": awaited.tool, "original": original,
                      "injected": original, "executed": True, "failed": str(unfit), "refused": [*map(list, refused)]}
            return replace(_unpaid(awaited.taken), injection=failed)
        self._state = replace(self._state, awaited=None)
        self._inject(awaited.tool)
        record = {**self._record(original, said), "writer": "model"}
        return replace(_unpaid(_saying(awaited.taken, awaited.place, said)), injection=record)

    def _noised(self, said: str, action: str) -> str | None:
        if self._noise.type in USERS:
            words = USER_RULES[self._noise.type](said.rstrip("\n"), self._draws())
            return words and words + said[len(said.rstrip("\n")):]
        return RULES[self._noise.type](said, action, self._draws())

    def _inject(self, tool: str) -> None:
        self._state = replace(self._state, injected=(*self._state.injected, Injected(self._state.step, tool)))

    def _record(self, original: str | None, said: str) -> dict[str, Any]:
        """Return the record of the last injection; without an original its call was not carried out."""
        return {"type": self._noise.type, **asdict(self._state.injected[-1]), "original": original, "injected": said,
                "executed": original is not None}

    def _draws(self) -> random.Random:
        return random.Random(f"{self._noise.seed}/words/{self._state.step}")

    def _again(self, said: str) -> Observation:
        """Return the last observation with another message: nothing has happened in the clean episode."""
        assert self._seen is not None
        role = "tool" if self._seen.tools else "user"
        messages: list[Message] = [{"role": role, "content": f"{said}\n"}]
        return self._shown(replace(self._seen, messages=messages))

    def _passed(self, taken: Transition) -> Transition:
        return replace(taken, observation=self._shown(taken.observation))

    def _shown(self, seen: Observation) -> Observation:
        """Return an observation with the state's hash, and with the tool that repairs others."""
        offered = seen.tools
        if self._repairs(seen):
            own = [tool for tool in seen.tools or [] if tool["function"]["name"] != REPAIR]
            offered = [*own, Tool(Repair, str).described(REPAIR)]
        self._seen = replace(seen, state_hash=self.state_hash(), tools=offered)
        return self._seen


class NoisyElsewhere(NoisyEpisode):
    """The same around an episode whose world is in another process."""

    def close(self) -> None:
        assert isinstance(self.inner, Elsewhere)
        self.inner.close()


def noisy(inner: Episode, noise: TaskNoise) -> NoisyEpisode:
    """Return an episode with noise."""
    return (NoisyElsewhere if isinstance(inner, Elsewhere) else NoisyEpisode)(inner, noise)


def _expect_room(noise: TaskNoise, turns: int) -> None:
    """Raise WrongParams where noise could use up the turns that a repeated call needs."""
    if turns < 2:
        raise WrongParams("noise", noise.type, "a task of several turns: one answer has no results of tools")
    budget = noise.budget
    if noise.type in LOSES - {"failure"} and budget is not None and budget >= turns:
        raise WrongParams("noise.most", budget, f"less than the {turns} turns of the episode, so that results can be "
                          "asked for again")


def _tool(action: str, call: ToolCall | None, seen: Observation | None) -> str | None:
    """Return the name of the tool whose result the step returns; None where it is the result of no tool.

    Where an environment has no tools, each of its answers is a result, and the first word of the action its tool.
    """
    if seen is None or seen.ask is not None:
        return None
    if not seen.tools:
        return next(iter(action.split()), "")[:40]
    return call.tool if call is not None and call.tool in _names(seen) else None


def _guided(taken: Transition, noise: TaskNoise) -> Transition:
    """Return a question to the model that speaks for the user with a guideline in its system message."""
    ask, quota = taken.observation.ask, QUOTAS[noise.intensity]
    if ask is None or ask.role != _USER or not quota or noise.type not in USERS:
        return taken
    said = guideline(noise.type, quota)
    head, *rest = ask.messages
    if head["role"] == "system":
        messages = [{**head, "content": f"{head['content']}\n\n{said}"}, *rest]
    else:
        messages = [{"role": "system", "content": said}, head, *rest]
    return replace(taken, observation=replace(taken.observation, ask=replace(ask, messages=messages)))


def _names(seen: Observation | None) -> list[str]:
    offered = (seen.tools if seen else None) or []
    return [tool["function"]["name"] for tool in offered if tool["function"]["name"] != REPAIR]


def result_place(taken: Transition, kind: NoiseType) -> int | None:
    """Return the place of the message that may be changed; None if no noise of this type may change the result."""
    messages = taken.observation.messages
    if kind in USERS and (not messages or messages[-1]["role"] != _USER):
        return None
    if taken.done or not taken.valid or not messages or taken.observation.ask is not None:
        return None
    if kind in LOSES and taken.effect:  # what was done must not look undone, or done otherwise
        return None
    said = messages[-1]["content"]
    fits = isinstance(said, str) and bool(said.strip()) and len(said.encode()) <= MOST_BYTES
    return len(messages) - 1 if fits and not said.lower().startswith("error") else None


def _saying(taken: Transition, place: int, said: str) -> Transition:
    """Return the result of a step with other words in one of its messages."""
    messages = [*taken.observation.messages]
    messages[place] = {**messages[place], "content": said}
    return replace(taken, observation=replace(taken.observation, messages=messages))


def _unpaid(taken: Transition) -> Transition:
    """Return a result that says again what a step did, and pays nothing: the step itself was paid."""
    return replace(taken, reward=None if taken.reward is None else 0.0, rules=dict.fromkeys(taken.rules, 0.0))


def _same_form(original: str, said: str) -> bool:
    """Return whether a result of JSON is still JSON with the same keys."""
    before, after = parts.parsed(original), parts.parsed(said)
    if not parts.is_json(before):
        return True
    return parts.is_json(after) and parts.shape(before) == parts.shape(after)


def _awaited(stored: Mapping[str, Any]) -> _Awaited:
    taken = Transition(**{**stored["taken"], "observation": state_of(Observation, stored["taken"]["observation"])})
    return _Awaited(taken, stored["tool"], stored["action"], stored["place"],
                    tuple((words, why) for words, why in stored["refused"]))
