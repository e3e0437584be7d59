"""One task of a package being played. The tables are kept here; each call of a tool runs elsewhere."""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hone.environments.contract import EpisodeLost, EpisodeOver, Message, Observation, Transition
from hone.environments.hashing import digest
from hone.environments.packages.calling import (
    MOST_STATE_BYTES,
    Called,
    PackageCall,
    Runner,
    ToolsLost,
    are_tables,
    called,
)
from hone.environments.packages.package import Package, PackageTask, Tables
from hone.environments.packages.state_check import Mismatch, mismatches
from hone.environments.packages.state_form import unfit
from hone.environments.tools import ToolCall, tool_call

_LONGEST = 20_000
"""Characters of a tool's result that are shown."""


@dataclass(frozen=True)
class _PackageState:
    tables: Tables
    step: int = 0
    answer: str | None = None
    failures: int = 0  # of the tools' code


_STATE = tuple(one.name for one in fields(_PackageState))


class PackageEpisode:
    """A policy at work with the tools of a package."""

    def __init__(
        self, package: Package, task: PackageTask, runner: Runner, turns: int, show_policy: bool = True,
        hidden: Collection[str] = (),
    ) -> None:
        """`hidden`: tools that are not offered, so that a policy is a weaker one."""
        self._package, self._task, self._runner, self._turns = package, task, runner, turns
        self._opening = opening(package, task, show_policy)
        offered = (set(task.tools) or {tool.name for tool in package.manifest.tools}) - set(hidden)
        self._tools = {tool.name: tool for tool in package.manifest.tools if tool.name in offered}
        self._state = _PackageState(task.initial)

    def reset(self) -> Observation:
        self._state = _PackageState(self._task.initial)
        return self._seen(self._opening)

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the task has been answered, or its turns are used up")
        call, state = tool_call(action), self._state
        if call is None:
            self._state = replace(state, step=state.step + 1, answer=action.strip())
            return Transition(self._seen([]), done=True, valid=True, effect=True)
        said, valid, after = self._called(call)
        self._state = replace(after, step=state.step + 1)
        seen = self._seen([{"role": "tool", "content": said[:_LONGEST] + "\n"}])
        return Transition(seen, self._over(), valid, effect=after.tables != state.tables)

    def snapshot(self) -> dict[str, Any]:
        return {name: getattr(self._state, name) for name in _STATE}

    def restore(self, snapshot: dict[str, Any]) -> None:
        state = _PackageState(**snapshot)
        numbers = [one for one in (state.step, state.failures) if type(one) is int and one >= 0]
        if not are_tables(state.tables) or unfit(state.tables) or len(numbers) < 2 or not isinstance(
                state.answer, str | None) or set(state.tables) != set(self._task.initial):
            raise ValueError("expected tables, counts and an answer")
        self._state = state

    def fork(self) -> "PackageEpisode":
        other = PackageEpisode(self._package, self._task, self._runner, self._turns)
        other._opening, other._tools, other._state = self._opening, self._tools, self._state
        return other

    def state_hash(self) -> str:
        return digest({**self.snapshot(), "package": self._package.digest, "task": self._task.id})

    def verify(self) -> float | None:
        """Return 1 if every cell that counts is the true one and the answer has what is to be communicated, else 0."""
        return float(not self.mismatches() and not self._untold())

    def mismatches(self) -> list[Mismatch]:
        """Return the faults of the tables."""
        return mismatches(self._package.manifest, self._state.tables, self._task.truth)

    def close(self) -> None:
        """Nothing is kept elsewhere: each call brings its tables."""

    def _called(self, call: ToolCall) -> tuple[str, bool, _PackageState]:
        """Return the answer to a call, whether it could be made, and the state after it."""
        state = self._state
        if call.tool not in self._tools:
            known = ", ".join(self._tools)
            return f"error: no tool {call.tool}; there are {known}", False, state
        if wrong := self._package.wrong_arguments(call.tool, call.arguments):
            return f"error: {wrong}", False, state
        made = self._made(call.tool, call.arguments)
        if made.failed is not None:
            reason = made.failed.strip().rpartition("\n")[2]
            return f"error: the tool failed: {reason}", False, replace(state, failures=state.failures + 1)
        if made.rejected is not None:
            return f"error: {made.rejected}", True, state
        text = json.dumps(made.tables)
        if len(text) > MOST_STATE_BYTES:
            return "error: the state would be too large", False, replace(state, failures=state.failures + 1)
        same = text == json.dumps(state.tables)  # then sessions go on sharing the task's tables
        return json.dumps(made.result, ensure_ascii=False), True, state if same else replace(state, tables=made.tables)

    def _made(self, tool: str, arguments: dict[str, Any]) -> Called:
        try:
            return called(self._runner, self._package, [
                PackageCall(self._state.tables, tool, arguments, self._state.step)])[0]
        except ToolsLost as lost:
            raise EpisodeLost(f"the sandbox: {lost}") from lost

    def _untold(self) -> list[str]:
        """Return the phrases that the answer lacks."""
        said = (self._state.answer or "").casefold()
        return [phrase for phrase in self._task.communicate if phrase.casefold() not in said]

    def _over(self) -> bool:
        return self._state.answer is not None or self._state.step >= self._turns

    def _seen(self, said: list[Message]) -> Observation:
        wrong, untold = self.mismatches(), self._untold()
        item = {"task": self._task.id, "domain": self._package.manifest.domain, "package": self._package.digest,
                "difficulty": self._task.difficulty, "mismatches": [asdict(one) for one in wrong[:20]],
                "untold": untold, "tool_failures": self._state.failures, "verified": float(not wrong and not untold)}
        return Observation(said, item, {"type": "environment"}, self._turns - self._state.step, self.state_hash(),
                           [tool.described for tool in self._tools.values()])


def opening(package: Package, task: PackageTask, show_policy: bool = True) -> list[Message]:
    """Return the first messages of a task: the policy, where the package has one, and the instruction."""
    policy = package.manifest.policy if show_policy else ""
    said: list[Message] = [{"role": "user", "content": f"{task.instruction}\n"}]
    return [{"role": "system", "content": policy}, *said] if policy else said

