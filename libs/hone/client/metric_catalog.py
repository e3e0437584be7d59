"""What a run's metrics are called, measured in and mean, and in which group they are read: the table, by name."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from hone.client.metric_table import GROUPS, LOSS, OTHER, Metric, MetricGroup

VERIFIED = "verify/"
"""Beginning of a verification step's names; the rest is as of any step."""

_FIELD = re.compile(r"\\{(\w+)\\}")
_TRACK = re.compile(r"loss/(?P<track>[^/]+)/(?P<rest>[^/]+)")


@dataclass(frozen=True)
class Found:
    """A metric with its group and its place in it: the order in which they are read."""

    group: MetricGroup
    place: tuple[int, ...]
    metric: Metric


def find(name: str) -> Found:
    """Return what is known of a metric; one that the table does not have is in OTHER, its name for a title."""
    return known(name) or _said(Found(OTHER, (len(GROUPS),), Metric("{name}", "", "")), {"name": spelt(name)})


@lru_cache(maxsize=4096)
def known(name: str) -> Found | None:
    """Return what the table says of a metric; None where it says nothing."""
    if name in _EXACT:
        return _EXACT[name]
    if name.startswith(VERIFIED):
        return _verified(name.removeprefix(VERIFIED))
    for pattern, found in _PATTERNS:
        if match := pattern.fullmatch(name):
            return _said(found, {field: spelt(value) for field, value in match.groupdict().items()})
    return _of_track(name)


def grouped(names: Iterable[str]) -> list[tuple[MetricGroup, list[str]]]:
    """Return names by group, groups and names in reading order, no group empty and no name left out."""
    ordered = sorted(names, key=lambda name: (find(name).place, name))
    groups = [(group, [name for name in ordered if find(name).group is group]) for group in (*GROUPS, OTHER)]
    return [(group, members) for group, members in groups if members]


def spelt(name: str) -> str:
    """Return a name without signs between its words."""
    return name.replace("/", ": ").replace("_", " ")


def _of_track(name: str) -> Found | None:
    """A loss of several tracks tells of each by itself."""
    match = _TRACK.fullmatch(name)
    whole = _EXACT.get(f"loss/{match['rest']}") if match else None
    if match is None or whole is None:
        return None
    title, unit, meaning = whole.metric
    return Found(LOSS, whole.place, Metric(f"{title}, {spelt(match['track'])}", unit, meaning))


def _verified(name: str) -> Found | None:
    inner = known(name)
    if inner is None:
        return None
    words = _ALL[f"{VERIFIED}{{metric}}"]
    return _said(Found(words.group, (*words.place, *inner.place), words.metric), inner.metric._asdict())


def _said(found: Found, fields: dict[str, str]) -> Found:
    title, unit, meaning = (text.format_map(fields) for text in found.metric)
    return Found(found.group, found.place, Metric(title[:1].upper() + title[1:], unit, meaning))


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_FIELD.sub(r"(?P<\1>[^/]+)", re.escape(name)))


_ALL = {name: Found(group, (number, place), metric) for number, group in enumerate(GROUPS)
        for place, (name, metric) in enumerate(group.metrics.items())}
_EXACT = {name: found for name, found in _ALL.items() if "{" not in name}
_PATTERNS = [(_pattern(name), found) for name, found in _ALL.items() if "{" in name]
