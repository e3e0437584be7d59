"""Metrics in the order in which people read them, and the curves of a first look."""

from collections.abc import Iterable, Sequence

from hone.client import metric_catalog
from hone.client.metric_table import Group

FIRST_LOOK = ("reward/mean", "verify/verdict_accuracy", "eval/", "gap/mean", "gap/probe_mean", "staleness/mean",
              "entropy", "completion/mean_tokens")
"""What a run's page shows without being asked, as far as it is there."""

Points = Sequence[tuple[int, float]]
"""Steps and values, steps rising."""


def wanted(name: str, search: str) -> bool:
    """Tell whether a search means a metric: by its name, its title or its group's."""
    found = metric_catalog.find(name)
    return any(search.lower() in text.lower() for text in (name, found.metric.title, found.group.title))


def unit(name: str) -> str:
    """Return what a metric is shown in: a share in percent."""
    recorded = metric_catalog.find(name).metric.unit
    return "%" if recorded == "share" else recorded


def shown(name: str, points: Points) -> Points:
    """Return steps and values in that unit."""
    return [(step, 100 * value) for step, value in points] if unit(name) == "%" else points


def words(name: str) -> str:
    """Return a metric's title with its unit."""
    title = metric_catalog.find(name).metric.title
    return f"{title}, {unit(name)}" if unit(name) else title


def anchor(group: Group) -> str:
    """Return the id of a group's heading on its page."""
    return f"metrics-{group.title.lower().replace(' ', '-')}"


def first_look(names: Iterable[str]) -> list[str]:
    """Return the metrics that a run's page begins with."""
    known = sorted(name for name in names if name != "eval/masked")
    return [name for wanted in FIRST_LOOK for name in known
            if name == wanted or (wanted.endswith("/") and name.startswith(wanted))]
