"""One task of the desk being done. The answer without a call ends it, and the state that is left is graded."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, get_type_hints

from hone.environments.contract import EpisodeFailed, EpisodeOver, Message, Observation, Row, Transition
from hone.environments.desk import times
from hone.environments.desk.grading import FAILURES, DeskGrade, Transcript, grade
from hone.environments.desk.people_tools import tools
from hone.environments.desk.shell import spelled
from hone.environments.desk.snapshots import Snapshot, described, normal
from hone.environments.desk.store import DeskStore
from hone.environments.desk.task import SHARES, DeskTask
from hone.environments.hashing import digest
from hone.environments.tools import FAULTS, Tool, ToolError, tool_call, use
from hone.spec.snapshots import WrongSnapshot, fields_of

DECIDE = "Decide from the available information."
"""The answer to a question of the agent, once in an episode."""
_LONGEST = 12_000
"""Characters of a tool's result that are shown."""
_LONGEST_ANSWER = 4_000
"""Characters of the answer that the grade reads, and that are stored for the next grade."""


@dataclass(frozen=True)
class _Work:
    """Actions of the agent so far."""

    turns: int = 0
    calls: int = 0
    errors: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)
    asked: bool = False
    answer: str | None = None


class DeskEpisode:
    """An agent at a desk. It has the tools that are `offered`, or all of them where none is named."""

    def __init__(self, task: DeskTask, turns: int, shell: bool = False, offered: Collection[str] = ()) -> None:
        self._task, self._turns, self._shell, self._offered, self._work = task, turns, shell, offered, _Work()
        self._store = DeskStore(task.state, task.now, task.zone, task.owner, task.denied)
        self._every: Mapping[str, Tool] = tools(self._store, shell)
        self._tools = {name: tool for name, tool in self._every.items() if name in (offered or self._every)}
        self._described = [tool.described(name) for name, tool in self._tools.items()]
        self._before = normal(task.state)

    def reset(self) -> Observation:
        self.restore({**asdict(_Work()), "state": self._task.state, "made": 0})
        return self._seen(opening(self._task))

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the task has been answered, or its turns are used up")
        self._work = replace(self._work, turns=self._work.turns + 1)
        self._store.ticks = self._work.turns
        return self._used(action) if tool_call(action) else self._answered(action.strip())

    def snapshot(self) -> dict[str, Any]:
        return {**asdict(self._work), "state": self._store.state, "made": self._store.made}

    def restore(self, snapshot: dict[str, Any]) -> None:
        kept = fields_of(snapshot, {**get_type_hints(_Work), "state": dict[str, Any], "made": int})
        state = kept.pop("state")
        if not _alike(self._task.state, state):
            raise WrongSnapshot("state", state, "the parts of the task's first state, of their types")
        self._store.state, self._store.made = state, kept.pop("made")
        self._work = _Work(**kept)
        self._store.ticks = self._work.turns

    def fork(self) -> "DeskEpisode":
        other = DeskEpisode(self._task, self._turns, self._shell, self._offered)
        other.restore(self.snapshot())
        return other

    def state_hash(self) -> str:
        offered = {"tools": [*self._tools]} if self._offered else {}
        return digest({**self.snapshot(), **offered, "prompt": self._task.prompt,
                       "verifier": self._task.verifier_hash})

    def verify(self) -> float | None:
        """Return a hundredth of the score of the present state. Raises EpisodeFailed where it cannot be decided."""
        return self.grade().score / 100

    def grade(self) -> DeskGrade:
        """Return the grade of the present state. Raises EpisodeFailed where most checks cannot be decided."""
        return self._grade(normal(self._store.state))

    def transcript(self) -> Transcript:
        """Return the parts of the conversation that the grade reads."""
        answer = None if self._work.answer is None else self._work.answer[:_LONGEST_ANSWER]
        return Transcript(answer, self._work.calls, self._work.errors, self._work.faults)

    def snapshots(self) -> tuple[Snapshot, Snapshot]:
        """Return the normal forms of the first state and of the present one."""
        return self._before, normal(self._store.state)

    def examination_tools(self) -> Mapping[str, Tool]:
        """Return all of the desk's tools, over a copy, for somebody who judges its state."""
        return self.fork()._every

    def solution(self) -> list[str]:
        """Return actions that score 1, for demonstrations: lines of the shell where it stands for tools of files."""
        return [*spelled(self._task.scripts.perfect, self._tools), "Done."]

    def _grade(self, after: Snapshot) -> DeskGrade:
        found = grade(self._task, self._before, after, self.transcript())
        if found.quarantined:
            raise EpisodeFailed("more than half of the task's checks cannot be decided")
        return found

    def _used(self, action: str) -> Transition:
        call, before = tool_call(action), self._store.state
        assert call is not None
        work = replace(self._work, calls=self._work.calls + 1)
        try:
            said, valid = use(self._tools, call), True
        except ToolError as error:
            said, valid = f"error: {error}", False
            faults = {**work.faults, error.fault: work.faults.get(error.fault, 0) + 1}
            work = replace(work, errors=work.errors + 1, faults=faults)
        self._work = work
        seen = self._seen([{"role": "tool", "content": said[:_LONGEST] + "\n"}])
        return Transition(seen, self._over(), valid, effect=self._store.state != before)

    def _answered(self, text: str) -> Transition:
        if text.endswith("?") and not self._work.asked:
            self._work = replace(self._work, asked=True)
            seen = self._seen([{"role": "user", "content": DECIDE + "\n"}])
            return Transition(seen, self._over(), valid=True, effect=False)
        self._work = replace(self._work, answer=text)
        return Transition(self._seen([]), done=True, valid=True, effect=True)

    def _over(self) -> bool:
        return self._work.answer is not None or self._work.turns >= self._turns

    def _seen(self, said: list[Message]) -> Observation:
        return Observation(said, self._graded(), {"type": "environment"}, self._turns - self._work.turns,
                           self.state_hash(), self._described)

    def _graded(self) -> Row:
        """Return the facts for the grader: with the state before, which the task makes again, enough to re-grade."""
        task, after = self._task, normal(self._store.state)
        found = self._grade(after)
        return {
            "family": task.family, "difficulties": [*task.difficulties], "verifier": task.verifier_hash,
            "before": digest(self._before), "after": digest(after), "difference": described(self._before, after),
            "grade": found.described(), "transcript": asdict(self.transcript()),
            "components": components(found, self.transcript()), "verified": found.score / 100}


def opening(task: DeskTask) -> list[Message]:
    """Return the first message: who asks, when, and what."""
    now = times.local(task.now, task.zone)
    day = datetime.fromisoformat(now).strftime("%A")
    return [{"role": "user", "content": f"You work at the desk of {task.owner}. It is {day}, {now}, in the zone "
             f"{task.zone}. No zone has summer time.\n\n{task.prompt}\n"}]


def components(found: DeskGrade, transcript: Transcript) -> dict[str, float]:
    """Return the numbers of a grade: by kind and by check, forbidden changes, failures by class, calls and errors."""
    kinds = {kind: [one for one in found.checks if one.kind == kind] for kind in SHARES}
    failed = [one.failure for one in found.checks]
    return {
        "first_pass": float(found.first_pass), "collateral": float(len(found.collateral)),
        "undecided": float(sum(one.status == "cannot_decide" for one in found.checks)),
        "tool_calls": float(transcript.calls),
        "tool_error_rate": transcript.errors / transcript.calls if transcript.calls else 0.0,
        **{f"fault.{name}": float(transcript.faults.get(name, 0)) for name in FAULTS},
        **{kind: sum(one.counts for one in of) / len(of) for kind, of in kinds.items() if of},
        **{f"check.{one.id}": float(one.counts) for one in found.checks if one.status != "cannot_decide"},
        **{f"failure.{name.replace(' ', '_')}": float(failed.count(name)) for name in FAILURES}}


def _alike(first: Any, other: Any) -> bool:
    """Return whether a state has the parts of another, and in each of them records where that has records."""
    return first.keys() == other.keys() and all(
        type(part) is type(other[name]) and (not part or not other[name] or _kinds(part) == _kinds(other[name]))
        for name, part in first.items())


def _kinds(part: Any) -> set[type]:
    """Return the types of the values in a part of a state."""
    return set(map(type, part.values() if isinstance(part, dict) else part if isinstance(part, list) else [part]))
