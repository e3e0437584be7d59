"""Sinks of metrics by the kind of their destination: Hone's own, and those of installed packages."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hone.catalogue.catalogue import Catalogue, Group


@dataclass(frozen=True)
class SinkFacts:
    """The facts of a sink: the first line of its docstring."""

    summary: str


def _described(opener: Callable[[str], Any]) -> SinkFacts:
    return SinkFacts((inspect.getdoc(opener) or "").partition("\n")[0])


def _lacks(made: Any) -> str:
    return "" if callable(made) else "a call that opens it for a target"


SINKS: Catalogue[Callable[[str], Any], SinkFacts] = Catalogue(
    Group("hone.sinks", "sink", _lacks, _described, SinkFacts, makes_classes=False))
"""Each member opens the sink of a target (`services.sinks.contract`)."""
