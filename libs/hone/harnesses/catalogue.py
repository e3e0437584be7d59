"""Harnesses by name: Hone's own, and members of installed packages."""

import inspect
from dataclasses import dataclass
from typing import Any

from hone.catalogue.catalogue import Catalogue, Group
from hone.harnesses.contract import RESERVED, Harness, HarnessParams, collections, evaluates_only, kinds


@dataclass(frozen=True)
class HarnessFacts:
    """The facts of a harness that lists and rules read without importing it."""

    summary: str
    params_schema: dict[str, Any]
    kinds: list[str] | None
    evaluates: bool
    collections: list[str]


def _described(harness: Harness) -> HarnessFacts:
    made = kinds(harness)
    return HarnessFacts(harness.summary, harness.params.model_json_schema(), None if made is None else sorted(made),
                        evaluates_only(harness), sorted(collections(harness)))


def lacks(harness: Any) -> str:
    """Return the first part that an object lacks to be a harness; empty if none."""
    params = getattr(harness, "params", None)
    if not (inspect.isclass(params) and issubclass(params, HarnessParams)):
        return "`params`, a class derived from HarnessParams"
    if not isinstance(getattr(harness, "summary", None), str):
        return "`summary`, a sentence"
    if taken := collections(harness) & RESERVED:
        return f"another name for its collection {', '.join(sorted(taken))}, which is the driver's own"
    return "" if inspect.iscoroutinefunction(getattr(harness, "play", None)) else "`play`, a coroutine function"


def able(wanted: frozenset[str] | tuple[str, ...]) -> list[str]:
    """Return the names of the harnesses that make calls of all these kinds."""
    return [name for name in HARNESSES if set(HARNESSES.facts(name).kinds or ()).issuperset(wanted)]


HARNESSES: Catalogue[Harness, HarnessFacts] = Catalogue(
    Group("hone.harnesses", "harness", lacks, _described, HarnessFacts))
