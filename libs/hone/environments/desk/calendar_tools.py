"""Tools over a calendar. An event may repeat each day or week until a time; a change of it changes all of its days."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from hone.environments.desk import times
from hone.environments.desk.store import DeskStore
from hone.environments.hashing import canonical
from hone.environments.tools import ToolError

Repeats = Literal["never", "daily", "weekly"]
_TIME = "Such as 2026-01-31T09:00: local time of the zone."
_ZONE = "IANA name, such as Europe/Berlin; by default the owner's own zone."
_DAYS = {"daily": 1, "weekly": 7}
_MOST_SHOWN = 200


class ListEvents(BaseModel):
    """List what takes place between two times, each day of a repeated event by itself, in the owner's zone."""

    start: str = Field(max_length=40, description=_TIME)
    end: str = Field(max_length=40, description=_TIME)


class SearchEvents(BaseModel):
    """List events whose title, place or attendees contain some words, whatever their case."""

    words: str = Field(min_length=1, max_length=300, description="The words, found one after the other as they stand.")


class CreateEvent(BaseModel):
    """Create an event."""

    title: str = Field(min_length=1, max_length=200, description="The title.")
    start: str = Field(max_length=40, description=_TIME)
    end: str = Field(max_length=40, description=_TIME)
    zone: str | None = Field(None, description=_ZONE)
    attendees: list[str] = Field([], max_length=50, description="E-mail addresses.")
    place: str = Field("", max_length=200, description="The place.")
    repeats: Repeats = Field("never", description="How often.")
    until: str = Field("", max_length=40, description="When the last one is over, where it repeats.")


class UpdateEvent(BaseModel):
    """Change the fields of an event that are given. What is not given stays; the end does not follow the start."""

    event: str = Field(description="The event's id, such as E3.")
    title: str | None = Field(None, min_length=1, max_length=200, description="The title.")
    start: str | None = Field(None, max_length=40, description=_TIME)
    end: str | None = Field(None, max_length=40, description=_TIME)
    zone: str | None = Field(None, description=_ZONE)
    attendees: list[str] | None = Field(None, max_length=50, description="All e-mail addresses.")
    place: str | None = Field(None, max_length=200, description="The place.")


class DeleteEvent(BaseModel):
    """Delete an event, with all of its days."""

    event: str = Field(description="The event's id.")


def _list(store: DeskStore, given: ListEvents) -> str:
    start, end = (times.given(text, store.zone, name) for text, name in ((given.start, "start"), (given.end, "end")))
    found = sorted(((day, key) for key, event in store.objects("calendar").items()
                    for day in occurrences(event, start, end)))
    return canonical([_shown(store, key, day) for day, key in found[:_MOST_SHOWN]])


def occurrences(event: Mapping[str, Any], start: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield start and end, in UTC, of each day of an event that overlaps a span of time."""
    day, step = (event["start"], event["end"]), _DAYS.get(event["repeats"])
    for _ in range(_MOST_SHOWN):
        if day[0] >= end or (event["until"] and day[1] > event["until"]):
            return
        if day[1] > start:
            yield day
        if step is None:
            return
        day = (times.later(day[0], days=step), times.later(day[1], days=step))


def _search(store: DeskStore, given: SearchEvents) -> str:
    words = given.words.casefold()
    return canonical([
        _shown(store, key, (event["start"], event["end"])) for key, event in sorted(store.objects("calendar").items())
        if words in " ".join([event["title"], event["place"], *event["attendees"]]).casefold()])


def _create(store: DeskStore, given: CreateEvent) -> str:
    store.permit("change_calendar")
    zone = given.zone or store.zone
    start, end = times.given(given.start, zone, "start"), times.given(given.end, zone, "end")
    _in_order(start, end)
    until = times.given(given.until, zone, "until") if given.until else ""
    key = store.create("calendar", title=given.title, start=start, end=end, place=given.place, repeats=given.repeats,
                       attendees=_addresses(given.attendees), until=until, modified=store.now)
    return f"created {key}"


def _update(store: DeskStore, given: UpdateEvent) -> str:
    store.permit("change_calendar")
    event, zone = store.object("calendar", given.event), given.zone or store.zone
    changes = {name: times.given(text, zone, name) for name, text in (("start", given.start), ("end", given.end))
               if text is not None}
    changes |= {name: text for name, text in (("title", given.title), ("place", given.place)) if text is not None}
    _in_order(changes.get("start", event["start"]), changes.get("end", event["end"]))
    people = {} if given.attendees is None else {"attendees": _addresses(given.attendees)}
    store.write("calendar", given.event, **changes, **people, modified=store.now)
    return f"updated {given.event}"


def _delete(store: DeskStore, given: DeleteEvent) -> str:
    store.permit("change_calendar")
    store.remove("calendar", given.event)
    return f"deleted {given.event}"


def _in_order(start: str, end: str) -> None:
    if start >= end:
        raise ToolError(f"end: found {end}, expected a time after the start, {start}")


def _addresses(given: list[str]) -> list[str]:
    return [one.strip().lower() for one in given]


def _shown(store: DeskStore, key: str, day: tuple[str, str]) -> dict[str, Any]:
    event = store.object("calendar", key)
    until = times.local(event["until"], store.zone) if event["until"] else ""
    return {"event": key, "title": event["title"], "start": times.local(day[0], store.zone), "until": until,
            "end": times.local(day[1], store.zone), "zone": store.zone, "attendees": event["attendees"],
            "place": event["place"], "repeats": event["repeats"]}


TOOLS: Mapping[str, tuple[type[BaseModel], Callable[[DeskStore, Any], str]]] = {
    "list_events": (ListEvents, _list), "search_events": (SearchEvents, _search),
    "create_event": (CreateEvent, _create), "update_event": (UpdateEvent, _update),
    "delete_event": (DeleteEvent, _delete)}
