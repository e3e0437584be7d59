"""Graders by the `type` in their JSON: Hone's own, and members of installed packages."""

import inspect
import sys
from dataclasses import dataclass
from typing import Any

from hone.catalogue.catalogue import Catalogue, Group
from hone.graders.contract import Grader


@dataclass(frozen=True)
class GraderFacts:
    """The facts of a kind of grader that lists read without importing it; its summary begins its module."""

    summary: str
    params_schema: dict[str, Any]
    low: float
    high: float
    pooled: bool


def _described(grader: Grader[Any]) -> GraderFacts:
    documentation = inspect.getdoc(sys.modules[grader.params.__module__]) or ""
    return GraderFacts(documentation.partition("\n")[0], grader.params.model_json_schema(), grader.low, grader.high,
                       grader.pooled)


def _lacks(made: Any) -> str:
    return "" if isinstance(made, Grader) else "`hone.graders.contract.Grader`, an instance of it"


GRADERS: Catalogue[Grader[Any], GraderFacts] = Catalogue(
    Group("hone.graders", "grader", _lacks, _described, GraderFacts))
