"""Readable parts of a sample for a grader. It is sent the parts that its kind asks for, and no more."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from hone.trajectory.records import Call, Step

Item = dict[str, Any]
"""A row of the task, as templates and graders read it."""


class Reads(StrEnum):
    """Parts of a sample that a kind of grader reads, beside the task's item."""

    OUTPUT = "output"  # the final text
    CONVERSATION = "conversation"  # every call and step, and how it ended
    GROUP = "group"  # all samples of the group at once
    WORLD = "world"  # the environment's state before the first action and after the last


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Passage(_Message):
    """A named part of a call's text: its characters from `start` to before `end`."""

    name: str
    start: int
    end: int


class Spoken(_Message):
    """One call, as text."""

    number: str  # its path in the tree of the sample's calls
    parent: str | None = None  # number of the call before it; empty: there is none
    kind: str = "answer"
    role: str = "policy"
    group_key: str | None = None
    text: str  # the whole answer, with what its prompt began
    truncated: bool = False  # cut off at its most tokens
    passages: list[Passage] = []
    rules: dict[str, float] = {}  # what the harness paid it
    notes: dict[str, Any] = {}  # facts that the harness stored

    def inside(self, name: str) -> list[str]:
        """Return the texts of the passages of that name."""
        return [self.text[one.start:one.end] for one in self.passages if one.name == name]


class Taken(_Message):
    """One step of the environment."""

    call: str  # number of the call whose answer is the action; empty: the harness acted before its first call
    action: str
    said: list[dict[str, Any]]  # the environment's answer, as messages
    valid: bool = True  # whether it understood the action
    effect: bool | None = None
    reward: float | None = None
    rules: dict[str, float] = {}
    injection: dict[str, Any] = {}  # noise in what was said, with its type and the original


class Conversation(_Message):
    """A whole sample: its calls and its steps in order, and how it ended."""

    calls: list[Spoken]
    steps: list[Taken] = []
    ended: str = "done"  # done, max_turns, max_context, left

    @property
    def policy(self) -> list[Spoken]:
        """The policy's calls."""
        return [call for call in self.calls if call.role == "policy"]

    def after(self, call: Spoken) -> list[Taken]:
        """Return the steps that a call's answer took."""
        return [step for step in self.steps if step.call == call.number]


class Origin(_Message):
    """The task of a world: what recreates its environment."""

    environment: str
    params: dict[str, Any] | None = None
    seed: int
    item: dict[str, Any] | None = None
    noise: dict[str, Any] | None = None  # in the results of its tools


class World(_Message):
    """Snapshots of the environment, as it writes them: at the beginning, and after the last step."""

    before: dict[str, Any]
    after: dict[str, Any]
    task: Origin | None = None  # None: not known
    state_hash: str = ""  # of the last state


@dataclass(frozen=True)
class Sample:
    """One sample. What its grader does not read is None."""

    item: Item
    output: str
    truncated: bool = False
    conversation: Conversation | None = None
    world: World | None = None


@dataclass(frozen=True)
class Sent:
    """A sample as JSON texts, as it goes to the process that grades it. Empty: not read."""

    item: str
    output: str
    truncated: bool = False
    conversation: str = ""
    world: str = ""


def received(sent: Iterable[Sent]) -> list[Sample]:
    """Return samples that were sent. Equal rows are one object. Raises ValueError, also where a field is wrong."""
    rows = cache(json.loads)
    return [Sample(
        rows(one.item or "{}"), one.output, one.truncated,
        Conversation.model_validate_json(one.conversation) if one.conversation else None,
        World.model_validate_json(one.world) if one.world else None) for one in sent]


def sent_again(sample: Sample) -> Sent:
    """Return a sample as JSON texts, to be graded by another grader."""
    return Sent(json.dumps(sample.item), sample.output, sample.truncated,
                sample.conversation.model_dump_json() if sample.conversation else "",
                sample.world.model_dump_json() if sample.world else "")


Passages = Callable[[str], Iterable[tuple[str, int, int]]]
"""Finds the named parts of a text of the policy: name, first character, the one after the last."""


def answering(calls: Sequence[Call]) -> Call:
    """Return the call whose text is a sample's output: the policy's last one outside of forks, or else its last one."""
    spoken = [call for call in calls if call.role == "policy"] or calls
    return ([call for call in spoken if "." not in call.number] or spoken)[-1]


def sent(
    calls: Sequence[Call], steps: Sequence[Step], ended: str, item: str, reads: Collection[Reads], passages: Passages,
    world: str = "",
) -> Sent:
    """Return a grader's input of a sample: its item as JSON, its whole output, and the parts that `reads` names."""
    last = answering(calls)
    whole = conversation(calls, steps, ended, passages).model_dump_json() if Reads.CONVERSATION in reads else ""
    return Sent(item, last.begun + last.text, last.finish_reason == "length" or ended != "done", whole, world)


def conversation(
    calls: Sequence[Call], steps: Sequence[Step], ended: str, passages: Passages
) -> Conversation:
    """Return a sample's calls and steps as graders read them. `passages` finds the named parts of a policy's text."""
    numbers = {call.index: call.number for call in calls}
    return Conversation(
        calls=[_spoken(call, passages) for call in calls],
        steps=[Taken(call=numbers.get(step.call, ""), action=step.action, said=step.said, valid=step.valid,
                     effect=step.effect, reward=step.reward, rules=step.rules, injection=step.injection)
               for step in steps],
        ended=ended)


def _spoken(call: Call, passages: Passages) -> Spoken:
    text = call.begun + call.text
    found = passages(text) if call.role == "policy" else []
    return Spoken(
        number=call.number, parent=call.parent, kind=call.kind, role=call.role, group_key=call.group_key, text=text,
        truncated=call.finish_reason == "length", rules=call.rules, notes=call.notes,
        passages=[Passage(name=name, start=start, end=end) for name, start, end in found])
