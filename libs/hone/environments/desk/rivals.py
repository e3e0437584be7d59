"""Agents that do almost what a solution does, made from its calls alone: whoever wrote the task has no say in them.

A verification that gives one of them a full score does not read what the call was about. Ours; the spec asks for agents
of these kinds, which the writer of a task supplies (`near_misses`, `wrong_object`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.environments.desk import times
from hone.environments.desk.agents import CLAIM
from hone.environments.desk.episode import DeskEpisode
from hone.environments.desk.grading import Transcript, grade
from hone.environments.desk.people_tools import tools
from hone.environments.desk.scenery import call
from hone.environments.desk.snapshots import normal
from hone.environments.desk.store import DeskStore
from hone.environments.desk.task import DeskTask
from hone.environments.tools import ToolError, tool_call, use

_OBJECTS: Mapping[tuple[str, str], str] = {
    ("update_event", "event"): "calendar", ("delete_event", "event"): "calendar", ("move_mail", "mail"): "mail",
    ("delete_mail", "mail"): "mail", ("update_contact", "contact"): "contacts", ("delete_contact", "contact"):
    "contacts", ("merge_contacts", "keep"): "contacts", ("merge_contacts", "remove"): "contacts",
    ("write_note", "note"): "notes", ("delete_note", "note"): "notes", ("move_file", "path"): "files",
    ("delete_file", "path"): "files"}
"""Arguments that name an object which is changed, and its tool."""
_STRANGER = "nobody@elsewhere.example"
_UNASKED = call("write_note", title="Unasked", text="Tidied up as well.")


@dataclass(frozen=True)
class Rival:
    """An agent that must not get a full score."""

    name: str  # what it does otherwise
    actions: tuple[str, ...]


def rivals(task: DeskTask) -> Iterator[Rival]:
    """Yield the over-eager agent, and for each change of the solution those that leave it out or do another one."""
    solution = task.scripts.perfect
    yield Rival("over-eager: the solution, and a note that nobody asked for", (*solution, _UNASKED))
    for place in changes(task):
        rest = [*solution[:place], *solution[place + 1:]]
        given = json.loads(solution[place])
        yield Rival(f"partial: the solution without call {place + 1}, {given['tool']}", tuple(rest))
        for what, arguments in _others(task, given["tool"], given["arguments"]):
            other = call(given["tool"], **arguments)
            yield Rival(f"call {place + 1}, {given['tool']}, with {what}", (
                *solution[:place], other, *solution[place + 1:]))


def changes(task: DeskTask) -> list[int]:
    """Return the places of the calls that change what a snapshot shows, in the solution."""
    one = DeskEpisode(task, len(task.scripts.perfect) + 1)
    one.reset()
    found = list[int]()
    for place, action in enumerate(task.scripts.perfect):
        before = one.snapshots()[1]
        one.step(action)
        if one.snapshots()[1] != before:
            found.append(place)
    return found


class Replay:
    """Scores of many agents at one desk. It looks at the last state alone: an episode describes each step."""

    def __init__(self, task: DeskTask) -> None:
        self._task, self._before = task, normal(task.state)

    def points(self, actions: Sequence[str]) -> float:
        """Return the score of an agent that claims success in the end. Raises ValueError for what is no call."""
        store = DeskStore(self._task.state, self._task.now, self._task.zone, self._task.owner)
        at_hand, errors = tools(store), 0
        for place, action in enumerate(actions, 1):
            made = tool_call(action)
            if made is None:
                raise ValueError(f"found {action[:100]!r}, expected a call")
            store.ticks = place
            try:
                use(at_hand, made)
            except ToolError:
                errors += 1  # the agent goes on, as a policy may
        return grade(self._task, self._before, normal(store.state), Transcript(CLAIM, len(actions), errors)).score


def _others(task: DeskTask, tool: str, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield other arguments of a call, each with what is otherwise: another object, receiver, time or place."""
    for name, value in given.items():
        among = _OBJECTS.get((tool, name))
        others = [key for key in sorted(task.state[among]) if key != value] if among else []
        if others:
            yield f"{name} {others[0]} in place of {value}", {**given, name: others[0]}
    for name in ("to", "attendees"):
        if isinstance(given.get(name), list) and given[name]:
            yield f"{name} {_STRANGER} in place of {', '.join(map(str, given[name]))}", {**given, name: [_STRANGER]}
    if tool == "move_file":
        yield "another place", {**given, "to": f"/elsewhere/{str(given.get('to', '')).strip('/')}"}
    moved = {name: times.later(times.utc(given[name]), days=7)[:16] for name in ("start", "end")
             if isinstance(given.get(name), str)}
    if moved:
        yield "a time that is a week later", {**given, **moved}
