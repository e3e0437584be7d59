"""The entropy bonus, which keeps the policy from becoming too certain."""

from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.inputs import RegularizerInputs
from hone.algorithms.method import Method, Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


class EntropyParams(Params):
    """The entropy bonus."""

    coefficient: float = Field(
        0.0, description="Factor of the entropy, which is taken off the loss; 0 switches it off.")

    def needs(self) -> frozenset[str]:
        """The entropy with its gradient, unless switched off."""
        return frozenset({"entropy"}) if self.coefficient else frozenset()


def entropy(inputs: RegularizerInputs, params: EntropyParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-coefficient * H. Raises ValueError without entropy."""
    if inputs.entropy is None:
        raise ValueError("entropy: found none, expected the entropy with its gradient")
    return -params.coefficient * inputs.entropy, state, {"mean": float(inputs.entropy.detach().mean())}


METHOD: "Method[RegularizerInputs, Tensor]" = Method(entropy, EntropyParams)
