"""Methods by slot and name: Hone's own, and members of installed packages. A spec that names a method imports it."""

import inspect
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hone.algorithms.method import Method
from hone.catalogue.catalogue import Catalogue, Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from hone.algorithms.aggregations import AggregationInputs
    from hone.algorithms.allocation.inputs import AllocationInputs
    from hone.algorithms.inputs import (
        AdvantageInputs,
        CorrectionInputs,
        Estimate,
        FilterInputs,
        Floats,
        LossInputs,
        ModulationInputs,
        Progress,
        RegularizerInputs,
        RewardInputs,
        Rewards,
    )
    from hone.algorithms.schedules.batch_size import Consumption
    from hone.algorithms.topocurate.curation import TaskScore

In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
class MethodFacts:
    """The facts of a method that lists read without importing it: its source and formula, from its docstrings."""

    source: str
    formula: str
    params_schema: dict[str, Any]


def _described(method: Method[Any, Any]) -> MethodFacts:
    module = inspect.getdoc(sys.modules[method.function.__module__]) or ""
    return MethodFacts(module.partition("\n")[0], inspect.getdoc(method.function) or "",
                       method.params.model_json_schema())


def _lacks(made: Any) -> str:
    return "" if isinstance(made, Method) else "`hone.algorithms.method.Method`, whose object it has to be"


MEMBERS: Catalogue[Method[Any, Any], MethodFacts] = Catalogue(
    Group("hone.methods", "method", _lacks, _described, MethodFacts))
"""Methods of all slots, as slot.name."""


class Slot(MutableMapping[str, Method[In, Out]], Generic[In, Out]):
    """The methods that may fill a slot, by name."""

    def __init__(self, name: str) -> None:
        self._prefix = f"{name}."

    def __getitem__(self, name: str) -> Method[In, Out]:
        """Return a method. Raises NoMember."""
        return MEMBERS[self._prefix + name]

    def __setitem__(self, name: str, method: Method[In, Out]) -> None:
        MEMBERS[self._prefix + name] = method

    def __delitem__(self, name: str) -> None:
        del MEMBERS[self._prefix + name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._prefix + name in MEMBERS

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self._prefix) for name in MEMBERS if name.startswith(self._prefix))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def facts(self, name: str) -> MethodFacts:
        """Return the facts of a method. Raises NoMember."""
        return MEMBERS.facts(self._prefix + name)

    def fault(self, name: str) -> str:
        """Return why a method that some package has cannot be used; empty where it can, or where nobody has it."""
        return MEMBERS.fault(self._prefix + name)


ALLOCATIONS: "Slot[AllocationInputs, list[int]]" = Slot("allocation")
SAMPLERS: "Slot[Sequence[TaskScore], Floats]" = Slot("sampler")
FILTERS: "Slot[FilterInputs, list[bool]]" = Slot("filter")
REWARDS: "Slot[RewardInputs, Rewards]" = Slot("reward")
ADVANTAGES: "Slot[AdvantageInputs, Estimate]" = Slot("advantage")
MODULATIONS: "Slot[ModulationInputs, Floats]" = Slot("modulation")
CORRECTIONS: "Slot[CorrectionInputs, Tensor]" = Slot("correction")
LOSSES: "Slot[LossInputs, Tensor]" = Slot("loss")
AGGREGATIONS: "Slot[AggregationInputs, Floats]" = Slot("aggregation")
REGULARIZERS: "Slot[RegularizerInputs, Tensor]" = Slot("regularizers")
SCHEDULES: "Slot[Progress, float]" = Slot("schedule")
BATCH_SIZES: "Slot[Consumption, int]" = Slot("batch_size")

METHODS: Mapping[str, Slot[Any, Any]] = {
    "allocation": ALLOCATIONS,
    "sampler": SAMPLERS,
    "filter": FILTERS,
    "reward": REWARDS,
    "advantage": ADVANTAGES,
    "modulation": MODULATIONS,
    "correction": CORRECTIONS,
    "loss": LOSSES,
    "aggregation": AGGREGATIONS,
    "regularizers": REGULARIZERS,
    "schedule": SCHEDULES,
    "batch_size": BATCH_SIZES,
}
"""Slot -> name -> method; builders have a table of their own."""
