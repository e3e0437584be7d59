"""What stands above the metrics of a slot: its name, what fills it in this run, and where that is from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hone.client.fillings import Filling
from hone.client.metric_table import Group
from services.console import formats, parts, series
from services.console.markup import Markup, join, link, tag

_LONGEST = 40


def heading(group: Group, filled: Mapping[str, Sequence[Filling]]) -> Markup:
    """Return a group's heading; `filled` has what fills each slot of the run."""
    fillings = [filling for slot in group.slots for filling in filled.get(slot, ())]
    names = [tag("span", "— ", join([_name(one) for one in fillings], ", "), class_="filled")] if fillings else []
    told = [_origin(filling) for filling in fillings]
    return tag("div", tag("h2", join([group.title, *names], " "), id=series.anchor(group)), *told, class_="slot")


def contents(groups: Iterable[Group]) -> Markup:
    """Return links to the groups of a page."""
    links = [link(group.title, f"#{series.anchor(group)}") for group in groups]
    return tag("nav", *links, class_="jumps", aria_label="Groups of metrics")


def _name(filling: Filling) -> Markup:
    mark = [parts.chip("reconstruction", "wait")] if filling.reconstruction else []
    return join([tag("code", filling.name), *mark], " ")


def _origin(filling: Filling) -> Markup:
    source = tag("p", filling.source, class_="note") if filling.source else ""
    return join([source, _parameters(filling.params)])


def _parameters(params: Mapping[str, Any]) -> Markup:
    """Return parameters as a spec has them, those without content left out, long texts by their beginning."""
    shown = [tag("span", f"{name} {formats.short(json.dumps(value, ensure_ascii=False), _LONGEST)}")
             for name, value in params.items() if value not in ({}, [])]
    return tag("p", *shown, class_="parameters mono faint") if shown else Markup("")
