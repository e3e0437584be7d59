"""Times of the desk: UTC in its state, local where they are shown and given.

The desk's zones have no summer time, so that equal tasks are equal on machines with other tables of zones.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

from hone.environments.tools import ToolError

ZONES: Mapping[str, int] = {
    "UTC": 0, "Europe/London": 0, "Europe/Berlin": 60, "Africa/Nairobi": 180, "Asia/Kolkata": 330, "Asia/Tokyo": 540,
    "America/New_York": -300, "America/Denver": -420, "America/Los_Angeles": -480,
}
"""Minutes ahead of UTC, all year."""
_EARLIEST, _LATEST = "1900", "2999"


def utc(text: str, zone: str = "UTC") -> str:
    """Return an ISO time in UTC as YYYY-MM-DDTHH:MM:SSZ. A time without an offset is one of the zone.

    Raises ValueError where it is no time, ToolError for an unknown zone.
    """
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_zone(zone))
    try:
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError as error:
        raise ValueError(f"{text} is too early or too late") from error


def local(moment: str, zone: str) -> str:
    """Return a time of the state as local time of a zone, YYYY-MM-DDTHH:MM."""
    return datetime.fromisoformat(moment).astimezone(_zone(zone)).strftime("%Y-%m-%dT%H:%M")


def later(moment: str, **by: int) -> str:
    """Return a time of the state that is later by days, hours or minutes. Raises ValueError past the year 9999."""
    try:
        return (datetime.fromisoformat(moment) + timedelta(**by)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError as error:
        raise ValueError(f"{moment} is too late") from error


def minutes(start: str, end: str) -> int:
    """Return the minutes between two times of the state."""
    return int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() // 60)


def given(text: str, zone: str, name: str) -> str:
    """Return a time that a policy gave, in UTC. Raises ToolError that names the argument."""
    _zone(zone)
    try:
        moment = utc(text, zone)
    except ValueError as error:
        raise ToolError(f"{name}: found {text[:40]!r}, expected a time such as 2026-01-31T09:00") from error
    if not _EARLIEST <= moment < _LATEST:
        raise ToolError(f"{name}: found {text[:40]!r}, expected a time of the years from {_EARLIEST} to {_LATEST}")
    return moment


def _zone(name: str) -> timezone:
    if name not in ZONES:
        raise ToolError(f"zone: found {name[:40]!r}, expected one of {', '.join(ZONES)}")
    return timezone(timedelta(minutes=ZONES[name]))
