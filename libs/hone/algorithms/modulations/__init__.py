"""Modulations (S5): change advantages token by token, over a step or a minibatch. Their factors have no gradient."""

from collections.abc import Mapping

from hone.algorithms.inputs import Floats, ModulationInputs
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.modulations.dynamo import DynamoParams, dynamo
from hone.algorithms.modulations.sdar import RlsdParams, SdarModulationParams, rlsd, sdar
from hone.algorithms.modulations.selskill import SelskillParams, selskill
from hone.algorithms.modulations.step_credit import StepCreditParams, step_credit


def none(inputs: ModulationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """The advantage, unchanged."""
    return inputs.advantage, state, {}


MODULATIONS: Mapping[str, Method[ModulationInputs, Floats]] = {
    "none": Method(none),
    "dynamo": Method(dynamo, DynamoParams, every_update=True),
    "step_credit": Method(step_credit, StepCreditParams),
    "sdar": Method(sdar, SdarModulationParams, every_update=True,
                   excludes={("regularizers", "sdar"): "which is the same term once more"}),
    "rlsd": Method(rlsd, RlsdParams, every_update=True),
    "selskill": Method(selskill, SelskillParams, every_update=True, builder="selskill"),
}
