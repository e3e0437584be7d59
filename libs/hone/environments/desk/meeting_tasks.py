"""Families about time: a meeting that moves across time zones, and one that needs a free time."""

from collections.abc import Sequence
from dataclasses import dataclass

from hone.environments.desk import times
from hone.environments.desk.conditions import Added, Allowed, Condition, Count, Every, Unchanged, Value
from hone.environments.desk.scenery import DeskScene, Person, call
from hone.environments.desk.task import (
    ALONE,
    ONE_MAIL,
    DeskCheck,
    DeskTask,
    NearMiss,
    Scripts,
    conflicting,
    weighted,
)

_TOPICS = ("budget review", "design review", "hiring round", "quarter plan", "release check", "security audit")
_NEAR = ("Europe/Berlin", "Europe/London", "Africa/Nairobi")


def reschedule(scene: DeskScene) -> DeskTask:
    """Move a meeting to the time that its guest asked for, in the guest's time zone, and confirm it."""
    guest = scene.person()
    while times.ZONES[guest.zone] == times.ZONES[scene.user.zone]:
        guest = Person(guest.name, guest.email, guest.phone, guest.company, scene.random.choice(list(times.ZONES)))
    other, title, length = scene.person(), scene.random.choice(_TOPICS).capitalize(), scene.random.choice((30, 45, 60))
    old = times.utc(f"{scene.day(scene.random.randint(1, 3))}T{scene.random.randint(10, 15)}:00")
    event = scene.event(title, old, times.later(old, minutes=length), [guest])
    twin = scene.event(title, times.later(old, days=1), times.later(old, days=1, minutes=length), [other])
    asked = f"{scene.day(scene.random.randint(5, 9))}T{scene.random.randint(9, 16):02d}:30"
    new = times.utc(asked, guest.zone)
    scene.known(guest, f"Works from {guest.zone}.")
    scene.known(other, f"Works from {other.zone}.")
    _requests(scene, guest, title, asked)
    subject, end, meeting = f"Moved: {title}", times.later(new, minutes=length), Meeting(event, twin, title, guest.zone)
    moved, longer = (_moved(scene, meeting, new, until) for until in (end, times.later(end, minutes=30)))
    confirmed = scene.mailed([guest.email], subject, f"It is at {asked} your time.")
    elsewhere = Meeting(twin, event, f"{title} with {other.name}", guest.zone)
    wrong = (_moved(scene, elsewhere, new, end), confirmed.replace(guest.email, other.email))
    misread = times.utc(asked, scene.user.zone)
    misses = (
        NearMiss((_moved(scene, meeting, misread, times.later(misread, minutes=length)), confirmed), "start"),
        NearMiss((moved,), "confirmation"), NearMiss((longer, confirmed), "end"),
        NearMiss((moved, confirmed, confirmed), "one_mail"),
        NearMiss((moved, confirmed, _retitled(scene, meeting)), "same_meeting"),
        *scene.refused("change_calendar", call("update_event", event=event, start=new[:16], end=end[:16], zone="UTC"),
                       confirmed, check="start"),
        *scene.refused("send_mail", moved, call("send_mail", to=[guest.email], subject=subject, body=""),
                       check="confirmation"))
    starts, ends, stays = _moving(scene, meeting, guest, new, end)
    checks = (
        DeskCheck("start", "The meeting starts when the guest asked.", "core", (starts,)),
        DeskCheck("end", "It is as long as before.", "core", (ends,)),
        DeskCheck("confirmation", "The guest has a confirmation.", "core", (
            Count(tool="mail", where={"folder": scene.outbox, "to": [guest.email], "subject": subject}),)),
        DeskCheck("same_meeting", "Title and guests stay, and there is no second one.", "consistency", (stays,)),
        ONE_MAIL, ALONE)
    return DeskTask(
        scene.family, "A guest asks by mail for another time, in a zone that only the contacts say.",
        conflicting(scene.variant.conflict, "temporal", "hidden dependency", "entity alignment"),
        f"{guest.name} asked by mail to move our meeting '{title}'. Move the event to the time of {guest.first}'s "
        f"latest request, and keep its length. {guest.first} gives times of their own zone. Then confirm it to "
        f"{guest.first} in a mail with the subject '{subject}'.",
        scene.user.email, scene.now, scene.user.zone, scene.finished(), weighted(checks),
        (Allowed(tool="calendar", object=event, fields=("start", "end")) if scene.may("change_calendar")
         else scene.may_note(scene.wished(title)), Allowed(tool="mail", object=f"{guest.email} | {subject}*")),
        Scripts((moved, confirmed), (longer,), wrong, misses))


@dataclass(frozen=True)
class Meeting:
    """An event that is to be moved, another one of its title, and the zone of who asks."""

    event: str
    twin: str
    title: str
    zone: str


def _moved(scene: DeskScene, meeting: Meeting, start: str, end: str) -> str:
    """Return the call that moves a meeting, or asks the calendar's owner to."""
    if not scene.may("change_calendar"):
        return scene.wish(meeting.title, start, end)
    return call("update_event", event=meeting.event, start=times.local(start, meeting.zone), zone=meeting.zone,
                end=times.local(end, meeting.zone))


def _retitled(scene: DeskScene, meeting: Meeting) -> str:
    """Return the call that does more than to move a meeting."""
    again = f"{meeting.title} (moved)"
    return call("update_event", event=meeting.event, title=again) if scene.may("change_calendar") else scene.noted(
        scene.wished(again), "It is moved.")


def _moving(
    scene: DeskScene, meeting: Meeting, guest: Person, start: str, end: str
) -> tuple[Condition, Condition, Condition]:
    """Return when a meeting's start is right, its end, and what else has to stay as it is."""
    event, title = meeting.event, scene.wished(meeting.title)
    if not scene.may("change_calendar"):
        stays = (*(Unchanged(tool="calendar", object=one) for one in (event, meeting.twin)), scene.one_noted())
        return scene.is_noted(title, start[:16]), scene.is_noted(title, end[:16]), Every(of=stays)
    return (Value(tool="calendar", object=event, field="start", equals=start),
            Value(tool="calendar", object=event, field="end", equals=end),
            Every(of=(Value(tool="calendar", object=event, field="title", equals=meeting.title),
                      Value(tool="calendar", object=event, field="attendees", equals=[guest.email]),
                      Count(tool="calendar", where={"title": meeting.title, "attendees": [guest.email]}, most=1))))


def book(scene: DeskScene) -> DeskTask:
    """Book a meeting at one of two times that are free and within working hours in both time zones."""
    guest, other, title = scene.person(_NEAR), scene.person(), scene.random.choice(_TOPICS).capitalize()
    zone = scene.random.choice(_NEAR)
    date = scene.day(scene.random.randint(2, 6))
    slots = _shared(date, zone, guest.zone)
    free = sorted(scene.random.sample(slots, 2))
    busy = [slot for slot in slots if slot not in free]
    weekly = scene.random.choice(busy)
    for slot in busy:
        repeats = "weekly" if slot == weekly else "never"
        start = times.later(slot, days=-7) if slot == weekly else slot
        scene.event(f"Busy {slot[11:16]}", start, times.later(start, minutes=30), repeats=repeats)
    scene.known(guest, f"Works from {guest.zone}.")
    scene.known(other)
    subject = f"Invitation: {title}"

    def made(start: str, person: Person) -> str:
        end = times.later(start, minutes=30)
        return call("create_event", title=title, start=start[:16], end=end[:16], zone="UTC",
                    attendees=[person.email]) if scene.may("change_calendar") else scene.wish(title, start, end)

    def invited(person: Person) -> str:
        return scene.mailed([person.email], subject, "I have booked a time for us.")

    there, at, single = _booked(scene, title, guest, free)
    second = made(free[1], guest) if scene.may("change_calendar") else scene.noted(scene.wished(f"{title} 2"), "Or so.")
    checks = (
        DeskCheck("event", "The meeting with its guest is in the calendar.", "core", there),
        DeskCheck("time", "It is at a free time within working hours of both.", "core", at),
        DeskCheck("invitation", "The guest has an invitation.", "core", (
            Count(tool="mail", where={"folder": scene.outbox, "to": [guest.email], "subject": subject}),)),
        DeskCheck("one_event", "Exactly one event is new.", "consistency", (single,)),
        ONE_MAIL, ALONE)
    return DeskTask(
        scene.family, "A time that is free and suits both zones; one of the taken times repeats weekly.",
        ("temporal", "constraint", "hidden dependency"),
        f"Book 30 minutes with {guest.name} on {date} with the title '{title}' and {guest.first} as the attendee, on "
        f"the hour or half past, when I am free and it is between 09:00 and 17:00 both for me and for {guest.first}. "
        f"Then invite {guest.first} in a mail with the subject '{subject}'.",
        scene.user.email, scene.now, zone, scene.finished(), weighted(checks),
        (Allowed(tool="calendar", object=f"{title} | *") if scene.may("change_calendar")
         else scene.may_note(scene.wished(title)), Allowed(tool="mail", object=f"{guest.email} | {subject}*")),
        Scripts((made(free[-1], guest), invited(guest)), (invited(guest),), (made(weekly, other), invited(other)), (
            NearMiss((made(weekly, guest), invited(guest)), "time"), NearMiss((made(free[0], guest),), "invitation"),
            NearMiss((made(free[0], guest), invited(guest), invited(guest)), "one_mail"),
            NearMiss((made(free[0], guest), second, invited(guest)), "one_event"),
            *scene.refused("change_calendar", call("create_event", title=title, start=free[0][:16], end=free[1][:16]),
                           invited(guest), check="event"),
            *scene.refused("send_mail", made(free[0], guest), call(
                "send_mail", to=[guest.email], subject=subject, body=""), check="invitation"))))


def _booked(
    scene: DeskScene, title: str, guest: Person, free: Sequence[str]
) -> tuple[tuple[Condition, ...], tuple[Condition, ...], Condition]:
    """Return when a meeting is booked, when its time is right, by the free starts, and when it is the only new one."""
    spans = [(one, times.later(one, minutes=30)) for one in free]
    if not scene.may("change_calendar"):
        asked = scene.wished(title)
        return (tuple(scene.is_noted(asked, start[:16]) for start, _ in spans),
                tuple(scene.is_noted(asked, start[:16], end[:16]) for start, end in spans), scene.one_noted())
    shown = {"title": title, "attendees": [guest.email]}
    return ((Count(tool="calendar", where=shown),),
            tuple(Count(tool="calendar", where={**shown, "start": start, "end": end}) for start, end in spans),
            Added(tool="calendar", count=1))


def _shared(date: str, zone: str, other: str) -> Sequence[str]:
    """Return the starts, in UTC, of the half hours of a day between 09:00 and 17:00 in both zones."""
    first = max(times.utc(f"{date}T09:00", one) for one in (zone, other))
    last = min(times.utc(f"{date}T17:00", one) for one in (zone, other))
    return [times.later(first, minutes=30 * place) for place in range(times.minutes(first, last) // 30)]


def _requests(scene: DeskScene, guest: Person, title: str, asked: str) -> None:
    date, hour = asked.split("T")
    withdrawn = "; forget what I wrote before" if scene.variant.conflict else ""
    if scene.variant.conflict:
        earlier = f"{scene.day(4)} at 11:00"
        scene.mail(guest, title, f"Hello,\ncould we meet on {earlier} instead?\n{guest.first}", days_ago=3)
    scene.mail(guest, f"{title} again", f"Hello,\nplease move it to {date} at {hour} my time{withdrawn}.\n"
               f"{guest.first}", days_ago=1)
