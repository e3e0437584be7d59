"""Modulations (S5): change advantages token by token, over a step or a minibatch. Their factors have no gradient."""

from hone.algorithms.inputs import Floats, ModulationInputs
from hone.algorithms.method import Method, Metrics, Params, State


def none(inputs: ModulationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """The advantage, unchanged."""
    return inputs.advantage, state, {}


METHOD: Method[ModulationInputs, Floats] = Method(none)
