"""The one shape of every slot: `(inputs, params, state) -> (outputs, state, metrics)`.

Nothing of `hone.algorithms` imports torch: functions on tensors use the tensors' own methods, so the process that
plans a step can read and check every slot without it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

State = Mapping[str, Any]
"""Plain JSON data that a method carries from step to step, kept inside the checkpoint; {} where there is none."""

Metrics = dict[str, float]
"""Named figures. Those of a micro-batch are means over its tokens, or largest values when the name ends in `_max`."""


class Params(BaseModel):
    """Parameters of a method: documented, with defaults; unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    old_policy: ClassVar[Literal["trainer", "sampler"]] = "trainer"
    """Of a correction: whose log-probabilities losses take for the old policy's."""

    def needs(self) -> frozenset[str]:
        """Name what the method reads beyond what every method of its slot has.

        A forward tells `logp_old`, `logp_ref`, `entropy` and `expected` (sum of p^2 (log p + entropy)); trajectories
        tell `turns`, `components` and `spans`; other models tell `logp_teacher`, `support` and `values`.
        """
        return frozenset()

    def remembers(self) -> bool:
        """Tell whether what the method returns depends on the state that it carried from earlier steps."""
        return False


In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
class Method(Generic[In, Out]):
    """A pure function and the type of its parameters; calling it validates the parameters."""

    function: Callable[[Any, Any, State], tuple[Any, State, Metrics]]
    params: type[Params] = Params

    def __call__(self, inputs: In, params: Mapping[str, Any], state: State) -> tuple[Out, State, Metrics]:
        """Apply the function. Raises pydantic.ValidationError when `params` has an unknown name or a wrong value."""
        outputs, state, metrics = self.function(inputs, self.params.model_validate(params), state)
        return outputs, state, metrics
