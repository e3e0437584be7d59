"""A task that somebody wrote: a desk, an instruction, a verification program of conditions, and calls that solve it.

Everything is data that this code reads. Nothing of it is executed but calls of the desk's own tools.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, Field, model_validator

from hone.environments.desk import times
from hone.environments.desk.calendar_tools import Repeats
from hone.environments.desk.conditions import Allowed, Condition, Count, Every, Holds, OnlyAllowed, Value
from hone.environments.desk.file_tools import LONGEST_PATH, LONGEST_TEXT, absolute
from hone.environments.desk.mail_tools import Address, Folder
from hone.environments.desk.snapshots import TIMES
from hone.environments.desk.store import DeskState
from hone.environments.desk.task import ALONE, CheckKind, DeskCheck, DeskTask, Difficulty, NearMiss, Scripts, weighted
from hone.environments.packages.package import ToolUse
from hone.environments.tools import ToolCall
from hone.spec.parameters import Strict

FAMILY = "written"
"""Family of all tasks that somebody wrote."""
MOST_CALLS, MOST_OBJECTS, MOST_CHECKS, MOST_BYTES = 20, 100, 20, 200_000
_ID = r"^[A-Z]{1,3}[0-9]{1,4}$"
_NAMES = r"^[a-z][a-z0-9_]{0,39}$"


def _moment(text: str) -> str:
    return times.given(text, "UTC", "time")


def _path(text: str) -> str:
    if text != absolute(text) or text == "/":
        raise ValueError(f"expected a whole path such as /inbox/a.txt, found {text[:60]!r}")
    return text


Moment = Annotated[str, Field(max_length=40), AfterValidator(_moment)]
"""A time, in UTC where it says no offset."""
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Line = Annotated[str, Field(max_length=300)]
Id = Annotated[str, Field(pattern=_ID)]
FilePath = Annotated[str, Field(max_length=LONGEST_PATH), AfterValidator(_path)]
Calls = Annotated[list[ToolUse], Field(min_length=1, max_length=MOST_CALLS)]


class WrittenFile(Strict):
    """A file."""

    text: Text
    locked: bool = False


class WrittenMail(Strict):
    """A mail that is there before."""

    folder: Folder = "inbox"
    sender: Address
    to: list[Address] = Field(min_length=1, max_length=20)
    subject: Line
    body: Text
    attachments: list[str] = Field([], max_length=20)
    sent: Moment


class WrittenEvent(Strict):
    """An event in the calendar."""

    title: str = Field(min_length=1, max_length=200)
    start: Moment
    end: Moment
    attendees: list[Address] = Field([], max_length=50)
    place: Line = ""
    repeats: Repeats = "never"
    until: Annotated[str, Field(max_length=40), AfterValidator(lambda text: text and _moment(text))] = ""


class WrittenContact(Strict):
    """An entry of the contacts."""

    name: str = Field(min_length=1, max_length=200)
    email: Line = ""
    phone: Line = ""
    company: Line = ""
    remark: Annotated[str, Field(max_length=2000)] = ""


class WrittenNote(Strict):
    """A note."""

    title: str = Field(min_length=1, max_length=200)
    text: Text


class WrittenDesk(Strict):
    """Objects on the desk before the task, by path or id."""

    files: dict[FilePath, WrittenFile] = Field({}, max_length=MOST_OBJECTS)
    mail: dict[Id, WrittenMail] = Field({}, max_length=MOST_OBJECTS)
    calendar: dict[Id, WrittenEvent] = Field({}, max_length=MOST_OBJECTS)
    contacts: dict[Id, WrittenContact] = Field({}, max_length=MOST_OBJECTS)
    notes: dict[Id, WrittenNote] = Field({}, max_length=MOST_OBJECTS)

    @model_validator(mode="after")
    def _consistent(self) -> "WrittenDesk":
        for wrong in self._wrong():
            raise ValueError(wrong)
        return self

    def _wrong(self) -> Iterator[str]:
        for path in self.files:
            yield from (f"files: {path} is a file, and {other} lies below it" for other in self.files
                        if other.startswith(f"{path}/"))
        for key, mail in self.mail.items():
            yield from (f"mail.{key}.attachments: there is no file {path}" for path in mail.attachments
                        if path not in self.files)
        for key, event in self.calendar.items():
            if event.start >= event.end:
                yield f"calendar.{key}.end: expected a time after the start, {event.start}, found {event.end}"


_KINDS: Mapping[str, type[BaseModel]] = {"files": WrittenFile, "mail": WrittenMail, "calendar": WrittenEvent,
                                         "contacts": WrittenContact, "notes": WrittenNote}
FIELDS: Mapping[str, tuple[str, ...]] = {
    tool: tuple(name for name in kind.model_fields if (tool, name) != ("mail", "sent"))
    for tool, kind in _KINDS.items()}
"""Fields that a snapshot has, by the name of the tool."""


class WrittenCheck(Strict):
    """A check: its conditions, one for each end state that is right, or one for all of them."""

    id: str = Field(pattern=_NAMES)
    description: str = Field(min_length=1, max_length=500)
    kind: CheckKind
    conditions: list[Condition] = Field(min_length=1, max_length=4)


class WrittenMiss(Strict):
    """Calls that almost do the task, and the check that has to fail."""

    calls: list[ToolUse] = Field(max_length=MOST_CALLS)
    check: str


class WrittenTask(Strict):
    """A whole task."""

    instruction: str = Field(min_length=1, max_length=5000)
    difficulties: list[Difficulty] = Field(min_length=2, max_length=len(get_args(Difficulty)))
    owner: Address
    now: Moment
    zone: str
    desk: WrittenDesk
    checks: list[WrittenCheck] = Field(min_length=2, max_length=MOST_CHECKS)
    allowed: list[Allowed] = Field(min_length=1, max_length=50)
    solution: Calls
    wrong_object: Calls
    near_misses: list[WrittenMiss] = Field(max_length=8)

    @model_validator(mode="after")
    def _whole(self) -> "WrittenTask":
        for wrong in self._wrong():
            raise ValueError(wrong)
        return self

    def _wrong(self) -> Iterator[str]:
        if self.zone not in times.ZONES:
            yield f"zone: expected one of {', '.join(times.ZONES)}, found {self.zone[:40]!r}"
        if len(self.model_dump_json()) > MOST_BYTES:
            yield f"expected at most {MOST_BYTES} bytes in all"
        yield from (f"desk.mail.{key}.sent: expected a time before now, {self.now}, found {mail.sent}"
                    for key, mail in self.desk.mail.items() if mail.sent > self.now)
        yield from self._wrong_checks()
        for place, one in enumerate(self.allowed):
            yield from _wrong_names(f"allowed.{place}", one.tool, one.fields or ())

    def _wrong_checks(self) -> Iterator[str]:
        ids, kinds = [one.id for one in self.checks], {one.kind for one in self.checks}
        if len(set(ids)) < len(ids) or ALONE.id in ids:
            yield f"checks: expected different ids, none of them {ALONE.id}"
        if not kinds >= {"core", "consistency"}:
            yield "checks: expected one at least of the kind core, and one of the kind consistency"
        yield from (f"near_misses: there is no check {one.check[:40]!r}" for one in self.near_misses
                    if one.check not in {*ids, ALONE.id})
        counts = {len(one.conditions) for one in self.checks} - {1}
        if len(counts) > 1:
            yield "checks: expected one condition, or as many alternatives as the other checks"
        for check in self.checks:
            for place, condition in enumerate(check.conditions):
                yield from _wrong_condition(f"checks.{check.id}.conditions.{place}", condition)


def _wrong_condition(at: str, condition: Condition) -> Iterator[str]:
    """Yield what is wrong with a condition: a name that no snapshot has, or a value that can equal nothing."""
    match condition:
        case OnlyAllowed():
            return
        case Every():
            for place, one in enumerate(condition.of):
                if isinstance(one, Every):
                    yield f"{at}.of.{place}: expected no `every` inside of another one"
                else:
                    yield from _wrong_condition(f"{at}.of.{place}", one)
        case Value():
            yield from _wrong_names(at, condition.tool, [condition.field])
            yield from _wrong_value(at, condition.tool, condition.field, condition.equals)
        case Count():
            yield from _wrong_names(at, condition.tool, [*condition.where, *condition.contains])
            for name, value in condition.where.items():
                yield from _wrong_value(at, condition.tool, name, value)
        case _:
            yield from _wrong_names(at, condition.tool, [condition.field] if isinstance(condition, Holds) else [])


def _wrong_names(at: str, tool: str, fields: Any) -> Iterator[str]:
    if tool not in FIELDS:
        yield f"{at}.tool: expected one of {', '.join(FIELDS)}, found {tool[:40]!r}"
        return
    yield from (f"{at}: expected a field of {tool}, one of {', '.join(FIELDS[tool])}, found {name[:40]!r}"
                for name in fields if name not in FIELDS[tool])


def _wrong_value(at: str, tool: str, name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, str | bool) and not (
            isinstance(value, list) and all(isinstance(one, str) for one in value)):
        yield f"{at}.{name}: expected a text, a list of texts, or true or false"
    elif name in TIMES.get(tool, ()) and value:
        try:
            times.utc(str(value))
        except ValueError:
            yield f"{at}.{name}: expected a time such as 2026-01-31T09:00:00Z, found {str(value)[:40]!r}"


def task_of(written: WrittenTask) -> DeskTask:
    """Return the task. The check that nothing else was changed is added."""
    checks = [DeskCheck(one.id, one.description, one.kind, tuple(one.conditions)) for one in written.checks]
    solution = _actions(written.solution)
    return DeskTask(
        FAMILY, "", tuple(written.difficulties), written.instruction, written.owner.lower(), written.now, written.zone,
        _state(written), weighted([*checks, ALONE]), tuple(written.allowed),
        Scripts(solution, solution[:-1], _actions(written.wrong_object),
                tuple(NearMiss(_actions(one.calls), one.check) for one in written.near_misses)))


def row_of(written: WrittenTask) -> dict[str, Any]:
    """Return a written task as JSON, for a row of a dataset."""
    return written.model_dump(mode="json")


def _state(written: WrittenTask) -> DeskState:
    """Return the desk in the form that tools use."""
    desk, modified = written.desk, {"modified": written.now}
    return {
        "files": {path: {**one.model_dump(), **modified} for path, one in desk.files.items()},
        "mail": {key: {**_lowered(one.model_dump(), "to"), "read": one.folder != "inbox"}
                 for key, one in desk.mail.items()},
        "calendar": {key: {**_lowered(one.model_dump(), "attendees"), **modified}
                     for key, one in desk.calendar.items()},
        "contacts": {key: {**one.model_dump(), **modified} for key, one in desk.contacts.items()},
        "notes": {key: {**one.model_dump(), **modified} for key, one in desk.notes.items()}}


def _lowered(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Return fields with addresses as the desk's tools write them."""
    return {**fields, name: [one.strip().lower() for one in fields[name]]}


def _actions(calls: list[ToolUse]) -> tuple[str, ...]:
    return tuple(ToolCall(one.tool, one.arguments).action() for one in calls)

