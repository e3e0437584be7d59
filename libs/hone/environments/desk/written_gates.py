"""Gates of a task that somebody wrote: the spec's (i) to (v), and what a family's program need not prove.

Ours: the solution's calls succeed; agents that are made from it do not get a full score, and neither does the one that
does it to the wrong object; every name that a check demands stands in the instruction or on the desk.
"""

import re
from collections.abc import Iterator

from hone.environments.desk.agents import graded
from hone.environments.desk.conditions import Condition, Count, Every, Holds, Value
from hone.environments.desk.episode import DeskEpisode
from hone.environments.desk.gates import DeskDraft, GateResult, gates
from hone.environments.desk.rivals import Replay, rivals
from hone.environments.desk.snapshots import NATURAL_KEYS, TIMES, Snapshot, normal, text
from hone.environments.desk.task import DeskTask
from hone.environments.desk.written import WrittenTask, task_of

_FREE = {("mail", "folder"), ("calendar", "repeats")}
"""Fields of a few values, which stand in the tools' descriptions."""
_MOST_SHOWN = 4


def written_gates(written: WrittenTask) -> list[GateResult]:
    """Return the result of each gate."""
    task = task_of(written)
    failed = GateResult("solution", _refused(task))
    if not failed.passed:
        return [failed]
    return [failed, *gates(DeskDraft(lambda: task_of(written))), GateResult("rivals", _rivals(task)),
            GateResult("wrong object", _wrong_object(task)), GateResult("named", _named(task))]


def _refused(task: DeskTask) -> str:
    """Return which call of the solution is no call, or is refused by its tool."""
    one = DeskEpisode(task, len(task.scripts.perfect) + 1)
    one.reset()
    for place, action in enumerate(task.scripts.perfect, 1):
        moved = one.step(action)
        if not moved.valid:
            return f"call {place} of the solution: {moved.observation.messages[0]['content'].strip()[:300]}"
    return ""


def _rivals(task: DeskTask) -> str:
    replay = Replay(task)
    found = [f"{one.name}: it scores 100, expected less" for one in rivals(task) if replay.points(one.actions) >= 100]
    return "; ".join(found[:_MOST_SHOWN])


def _wrong_object(task: DeskTask) -> str:
    """Return why the agent that does the work to the wrong object does not fail a core check by its work."""
    found = graded("wrong_object", task)
    if not any(one.kind == "core" and one.status == "fail" for one in found.checks):
        return f"the agent of wrong_object scores {found.score:g}, expected a core check to fail"
    return "" if _changes(task) else "wrong_object changes nothing"


def _changes(task: DeskTask) -> bool:
    one = DeskEpisode(task, len(task.scripts.wrong_object) + 1)
    one.reset()
    for action in task.scripts.wrong_object:
        one.step(action)
    before, after = one.snapshots()
    return before != after


def _named(task: DeskTask) -> str:
    """Return which names a check demands that nobody can know. Numbers and times may have to be computed."""
    known = _readable(task)
    found = [f"{check.id} demands {word!r}, which stands neither in the instruction nor on the desk"
             for check in task.checks for condition in check.conditions for word in _demanded(condition)
             if re.search(r"[^\W\d_]", word) and text(word).casefold() not in known]
    return "; ".join(dict.fromkeys(found[:_MOST_SHOWN]))


def _readable(task: DeskTask) -> str:
    """Return all that can be read, in lower case."""
    snapshot: Snapshot = normal(task.state)
    values = [str(part) for objects in snapshot.values() for key, fields in objects.items()
              for value in (key, *fields.values()) for part in (value if isinstance(value, list) else [value])]
    return "\n".join([text(task.prompt), task.owner, *values]).casefold()


def _demanded(condition: Condition) -> Iterator[str]:
    """Yield the texts that objects have to have, and the parts of new files' paths and of natural keys."""
    match condition:
        case Every():
            for one in condition.of:
                yield from _demanded(one)
        case Value():
            yield from _texts(condition.tool, condition.field, condition.equals)
            yield from _parts(condition.tool, condition.object)
        case Holds():
            yield from (*condition.texts, *_parts(condition.tool, condition.object))
        case Count():
            for name, value in condition.where.items():
                yield from _texts(condition.tool, name, value)
            for texts in condition.contains.values():
                yield from texts
        case _:
            return


def _texts(tool: str, name: str, value: object) -> Iterator[str]:
    if (tool, name) not in _FREE and name not in TIMES.get(tool, ()):
        yield from (one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str))


def _parts(tool: str, key: str) -> Iterator[str]:
    """Yield the parts of an object's id that have to be known before there is such an object."""
    if tool == "files":
        yield from filter(None, key.split("/"))
    elif " | " in key:
        parts = key.partition(" #")[0].split(" | ")
        yield from (word for name, part in zip(NATURAL_KEYS[tool], parts, strict=False)
                    if name not in TIMES.get(tool, ()) for word in part.split(", "))
