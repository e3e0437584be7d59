"""Scenery of all tasks: people, dates, and a desk with things on it that no task is about."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hone.environments.desk import times
from hone.environments.desk.conditions import Added, Allowed, Condition, Count, Holds
from hone.environments.desk.permissions import Permission
from hone.environments.desk.store import DeskState
from hone.environments.desk.task import NearMiss
from hone.environments.tools import ToolCall

_FIRST = ("Anna", "Bruno", "Chloe", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Keiko", "Lars",
          "Mira", "Noah", "Olga", "Pavel", "Rosa", "Samir", "Tessa", "Yusuf")
_LAST = ("Abbott", "Becker", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Haddad", "Ivanova", "Jansen",
         "Kowalski", "Lindgren", "Moreau", "Nakamura", "Okafor", "Petrov", "Quinn", "Rossi", "Silva", "Tanaka")
_COMPANIES = ("Northwind", "Bluepeak", "Ferro", "Granite", "Heliox", "Juniper", "Kestrel", "Lumen", "Marble", "Oakline")
_ZONES = ("Europe/Berlin", "Europe/London", "Asia/Kolkata", "Asia/Tokyo", "America/New_York", "America/Denver")
_CHATTER = ("Lunch menu", "Parking on Friday", "New coffee machine", "Photos of the summer party", "Fire drill",
            "Lost umbrella", "Window cleaning", "Printer on floor 2", "Running group", "Book club")
_FIRST_DAY = "2026-01-12T08:00:00Z"


@dataclass(frozen=True)
class Person:
    """Somebody whom the user knows, or the user."""

    name: str
    email: str
    phone: str
    company: str
    zone: str

    @property
    def first(self) -> str:
        """The first name."""
        return self.name.split()[0]


@dataclass(frozen=True)
class Variant:
    """How the state before differs from that of the same seed. The same program computes the truth from it."""

    shift_days: int = 0  # of all dates
    rename: int = 0  # other names of people and companies
    conflict: bool = True  # a second source says something else
    distractors: int = 4  # things of each kind that no task is about
    locked: bool = False  # a file that the user wants changed may not be
    denied: tuple[Permission, ...] = ()  # what the agent may not do at all


@dataclass
class DeskScene:
    """A desk that is being laid out. Equal seeds and variants give equal desks."""

    family: str
    seed: int
    variant: Variant
    state: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: {
        tool: {} for tool in ("files", "mail", "calendar", "contacts", "notes")})

    def __post_init__(self) -> None:
        self.random = random.Random(f"desk {self.family} {self.seed}")
        self._names = random.Random(f"desk names {self.family} {self.seed} {self.variant.rename}")
        self._first, self._last = list(_FIRST), list(_LAST)
        self._companies = list(_COMPANIES)
        for names in (self._first, self._last, self._companies):
            self._names.shuffle(names)
        days = 7 * self.random.randrange(4) + self.random.randrange(4)
        self.now = times.later(_FIRST_DAY, days=days + self.variant.shift_days)
        self.user = self.person()
        self.note("Shopping", "Milk, bread, apples.")

    def person(self, zones: Sequence[str] = _ZONES) -> Person:
        """Return somebody new, who lives in one of the zones."""
        name, company = f"{self._first.pop()} {self._last.pop()}", self._companies.pop()
        email = f"{name.replace(' ', '.')}@{company}.example".lower()
        phone = "+" + " ".join(str(self.random.randrange(10**digits, 10 ** (digits + 1))) for digits in (1, 2, 5))
        return Person(name, email, phone, company, self.random.choice(list(zones)))

    def day(self, days: int) -> str:
        """Return the date that is so many days after today, YYYY-MM-DD."""
        return times.later(self.now, days=days)[:10]

    def file(self, path: str, text: str, locked: bool = False) -> str:
        """Lay a file down and return its path."""
        self.state["files"][path] = {"text": text, "modified": self.now, "locked": locked}
        return path

    def mail(self, sender: Person, subject: str, body: str, days_ago: int = 1) -> str:
        """Put a mail to the user into the inbox, sent at noon UTC, and return its id."""
        sent = times.utc(f"{self.day(-days_ago)}T12:00")
        return self._add("mail", "M", folder="inbox", sender=sender.email, to=[self.user.email], subject=subject,
                         body=body, attachments=[], sent=sent, read=False)

    def event(self, title: str, start: str, end: str, attendees: Sequence[Person] = (), repeats: str = "never") -> str:
        """Put an event into the calendar, with times in UTC, and return its id."""
        return self._add("calendar", "E", title=title, start=start, end=end, place="", repeats=repeats, until="",
                         attendees=[one.email for one in attendees], modified=self.now)

    def contact(self, name: str, email: str = "", phone: str = "", company: str = "", remark: str = "") -> str:
        """Put an entry into the contacts and return its id."""
        return self._add("contacts", "C", name=name, email=email, phone=phone, company=company, remark=remark,
                         modified=self.now)

    def known(self, person: Person, remark: str = "") -> str:
        """Put a person into the contacts and return the entry's id."""
        return self.contact(person.name, person.email, person.phone, person.company, remark)

    def note(self, title: str, text: str) -> str:
        """Write a note and return its id."""
        return self._add("notes", "N", title=title, text=text, modified=self.now)

    def may(self, permission: Permission) -> bool:
        """Return whether the agent may do something."""
        return permission not in self.variant.denied

    @property
    def outbox(self) -> str:
        """The folder where a mail has to lie that the agent writes."""
        return "sent" if self.may("send_mail") else "drafts"

    def mailed(self, to: Sequence[str], subject: str, body: str, attachments: Sequence[str] = ()) -> str:
        """Return the call that writes a mail in the way that is allowed."""
        name = "send_mail" if self.may("send_mail") else "draft_mail"
        return call(name, to=list(to), subject=subject, body=body, attachments=list(attachments))

    def noted(self, title: str, text: str) -> str:
        """Return the call that notes something in the way that is allowed."""
        return call("write_note", title=title, text=text) if self.may("change_notes") else call(
            "write_file", path=_note_file(title), text=text)

    def is_noted(self, title: str, *texts: str) -> Condition:
        """Return the condition that texts are noted under a title."""
        if self.may("change_notes"):
            return Count(tool="notes", where={"title": title}, contains={"text": texts})
        return Holds(tool="files", object=_note_file(title), field="text", texts=texts)

    def one_noted(self) -> Condition:
        """Return the condition that exactly one thing is noted."""
        return Added(tool="notes" if self.may("change_notes") else "files", count=1)

    def may_note(self, title: str) -> Allowed:
        """Return the permitted changes where something is noted under a title."""
        return Allowed(tool="notes", object=f"{title}*") if self.may("change_notes") else Allowed(
            tool="files", object=_note_file(title))

    def wished(self, title: str) -> str:
        """Return the title of the note by which the calendar's owner is asked to change an event."""
        return f"Calendar: {title}"

    def wish(self, title: str, start: str, end: str) -> str:
        """Return the call that asks the calendar's owner for an event at a time in UTC."""
        return self.noted(self.wished(title), f"From {start[:16]} to {end[:16]} UTC.")

    def refused(self, permission: Permission, *actions: str, check: str) -> tuple[NearMiss, ...]:
        """Return the near miss of an agent who tries what it may not do and leaves it at that; () where it may."""
        return () if self.may(permission) else (NearMiss(actions, check),)

    def finished(self) -> DeskState:
        """Add what no task is about, and return the desk."""
        for place in range(self.variant.distractors):
            subject = _CHATTER[(self.seed + place) % len(_CHATTER)]
            stranger = Person("Front Desk", "desk@office.example", "", "Office", "UTC")
            self.mail(stranger, subject, f"{subject}: see the board in the hall.", days_ago=2 + place)
            self.file(f"/archive/minutes-{place + 1}.txt", f"Minutes {place + 1}. {subject} was discussed.")
            start = times.utc(f"{self.day(20 + place)}T10:00")
            self.event(subject, start, times.later(start, minutes=30))
            self.note(f"Idea {place + 1}", f"{subject}?")
        return self.state

    def _add(self, tool: str, letter: str, **fields: Any) -> str:
        key = f"{letter}{len(self.state[tool]) + 1}"
        self.state[tool][key] = fields
        return key


def _note_file(title: str) -> str:
    return f"/notes/{title}.txt"


def call(name: str, **arguments: Any) -> str:
    """Return a tool call as an action."""
    return ToolCall(name, arguments).action()
