"""The types of the table of metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Metric(NamedTuple):
    """Title, unit and meaning of one metric. A reward, a ratio or a factor has no unit."""

    title: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class MetricGroup:
    """Metrics that are read together, and the slots that they describe."""

    title: str
    slots: tuple[str, ...]
    metrics: Mapping[str, Metric]
