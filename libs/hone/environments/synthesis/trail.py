"""Trail of a making, for people who wait for it, and for the report of a making without a result."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Phase: TypeAlias = Literal["schema", "data", "tools", "tests", "graph", "tasks", "lives", "trials", "scenes",
                         "rounds"]
_MOST_KEPT, _LONGEST_REASON = 1000, 200
"""Entries of each kind that are kept, and characters of why there is no task."""


@dataclass
class ToolTrail:
    """Outcome of a tool. `findings` has for each round of tests what was unexpected."""

    kept: bool = False
    reason: str = ""  # why it was dropped
    rounds: int = 0
    findings: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class TaskTrail:
    """Outcome of a try at a task."""

    number: int
    kept: bool
    reason: str = ""


@dataclass
class Trail:
    """One thread writes it, and others read it."""

    phase: Phase = "schema"
    done: int = 0
    of: int = 1
    refusals: dict[str, list[str]] = field(default_factory=dict)  # question -> what was wrong with its answers
    tools: dict[str, ToolTrail] = field(default_factory=dict)
    tasks: list[TaskTrail] = field(default_factory=list)

    def at(self, phase: Phase, done: int, of: int) -> None:
        """Say where the making is: so many of so many parts of a phase are done."""
        self.phase, self.done, self.of = phase, done, of

    def refused(self, question: str, complaint: str) -> None:
        """Keep what was wrong with an answer."""
        if question in self.refusals or len(self.refusals) < _MOST_KEPT:
            self.refusals[question] = [*self.refusals.get(question, []), complaint]

    def tried(self, number: int, reason: str) -> None:
        """Keep what became of a task; no reason: it was accepted."""
        if len(self.tasks) < _MOST_KEPT:
            self.tasks.append(TaskTrail(number, not reason, reason[:_LONGEST_REASON]))

    @property
    def progress(self) -> dict[str, Any]:
        """Where the making is, as JSON."""
        return {"phase": self.phase, "done": self.done, "of": self.of}

    def as_json(self) -> dict[str, Any]:
        """Return the tries."""
        return {"refusals": dict(self.refusals), "tools": {name: asdict(one) for name, one in list(self.tools.items())},
                "tasks": [asdict(one) for one in self.tasks]}
