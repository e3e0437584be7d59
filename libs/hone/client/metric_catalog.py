"""Finds the title, unit, meaning and group of a metric by its name, in the table of metric_table."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from hone.client.metric_table import GROUPS, LOSS, OTHER
from hone.client.metric_types import Metric, MetricGroup

VERIFIED = "verify/"
"""Prefix of the metrics of verification steps; the rest of the name is that of any step."""

_FIELD = re.compile(r"\\{(\w+)\\}")
_SOURCE = re.compile(r"source/(?P<source>[^/]+)/(?P<rest>.+)")
_TRACK = re.compile(r"loss/(?P<track>[^/]+)/(?P<rest>[^/]+)")


@dataclass(frozen=True)
class MetricEntry:
    """A metric with its group; `place` sorts metrics in reading order."""

    group: MetricGroup
    place: tuple[int, ...]
    metric: Metric


def find(name: str) -> MetricEntry:
    """Return the entry of a metric. A metric without one is in OTHER, with its name as title."""
    unknown = MetricEntry(OTHER, (len(GROUPS),), Metric("{name}", "", ""))
    return known(name) or _filled(unknown, {"name": as_words(name)})


@lru_cache(maxsize=4096)
def known(name: str) -> MetricEntry | None:
    """Return the entry of a metric in the table, or None."""
    if name in _EXACT:
        return _EXACT[name]
    if name.startswith(VERIFIED):
        return _within(f"{VERIFIED}{{metric}}", name.removeprefix(VERIFIED), {})
    if match := _SOURCE.fullmatch(name):
        fields, own = {"source": match["source"]}, _ALL.get(f"source/{{source}}/{match['rest']}")
        return _filled(own, fields) if own else _within("source/{source}/{metric}", match["rest"], fields)
    for pattern, found in _PATTERNS:
        if match := pattern.fullmatch(name):
            return _filled(found, {field: as_words(value) for field, value in match.groupdict().items()})
    return _of_track(name)


def grouped(names: Iterable[str]) -> list[tuple[MetricGroup, list[str]]]:
    """Return the names by group, in reading order. Groups without names are left out."""
    ordered = sorted(names, key=lambda name: (find(name).place, name))
    groups = [(group, [name for name in ordered if find(name).group is group]) for group in (*GROUPS, OTHER)]
    return [(group, members) for group, members in groups if members]


def as_words(name: str) -> str:
    """Return a name as words, without its separators."""
    return name.replace("/", ": ").replace("_", " ")


def _of_track(name: str) -> MetricEntry | None:
    """Return the entry of a metric of one track of the loss."""
    match = _TRACK.fullmatch(name)
    whole = _EXACT.get(f"loss/{match['rest']}") if match else None
    if match is None or whole is None:
        return None
    title, unit, meaning = whole.metric
    return MetricEntry(LOSS, whole.place, Metric(f"{title}, {as_words(match['track'])}", unit, meaning))


def _within(pattern: str, name: str, fields: dict[str, str]) -> MetricEntry | None:
    """Return the entry of a metric of verification steps or of one source; `name` has no prefix."""
    inner = known(name)
    if inner is None:
        return None
    words = _ALL[pattern]
    return _filled(MetricEntry(words.group, (*words.place, *inner.place), words.metric),
                   {**inner.metric._asdict(), **fields})


def _filled(found: MetricEntry, fields: dict[str, str]) -> MetricEntry:
    """Return an entry with its fields replaced by texts."""
    title, unit, meaning = (text.format_map(fields) for text in found.metric)
    return MetricEntry(found.group, found.place, Metric(title[:1].upper() + title[1:], unit, meaning))


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_FIELD.sub(r"(?P<\1>[^/]+)", re.escape(name)))


_ALL = {name: MetricEntry(group, (number, place), metric) for number, group in enumerate(GROUPS)
        for place, (name, metric) in enumerate(group.metrics.items())}
_EXACT = {name: found for name, found in _ALL.items() if "{" not in name}
_PATTERNS = [(_pattern(name), found) for name, found in _ALL.items() if "{" in name]
