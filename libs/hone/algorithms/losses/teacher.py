"""Distance to a teacher as a policy loss: SCOPE's teacher path "in loss", arXiv 2604.10688."""

from typing import TYPE_CHECKING

from hone.algorithms.inputs import MAX_LOG_RATIO, LossInputs
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.regularizers.local_divergence import divergence

if TYPE_CHECKING:
    from torch import Tensor

_MAX_K3 = 10.0


class TeacherK3Params(Params):
    """No parameters."""

    def needs(self) -> frozenset[str]:
        """The teacher's log-probability of the sampled token."""
        return frozenset({"logp_teacher"})


class TeacherKlParams(Params):
    """No parameters."""

    def needs(self) -> frozenset[str]:
        """Both distributions on the teacher's likeliest ids."""
        return frozenset({"support"})


def teacher_k3(inputs: LossInputs, params: TeacherK3Params, state: State) -> "tuple[Tensor, State, Metrics]":
    """A k3, k3 = clamp(e^d - 1 - d, -10, 10), d = clamp(logp_teacher - logp, -20, 20).

    A is a token's weight; a negative one moves the policy away from the teacher. The gradient by logp is A (1 - e^d),
    and 0 where a clamp is active. The loss is 0 where the teacher scored nothing. Raises ValueError without
    logp_teacher.
    """
    if inputs.logp_teacher is None:
        raise ValueError("logp_teacher: found none, expected the teacher's log-probabilities")
    gap = (inputs.logp_teacher - inputs.logp).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    k3 = gap.expm1() - gap
    stopped = _known(inputs, k3.detach() > _MAX_K3)  # a clamped gap has k3 >= 19, so it is stopped as well
    loss, metrics = _weighted(inputs, k3.clamp(-_MAX_K3, _MAX_K3))
    return loss, state, {**metrics, "stopped_fraction": float(stopped.float().mean())}


def teacher_kl(inputs: LossInputs, params: TeacherKlParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """A sum_{v in S} q ln(q / q_T): the exact reverse KL over the teacher's likeliest ids S, both renormalised on them.

    A is a token's weight; a negative one moves the policy away from the teacher. The loss is 0 where the teacher scored
    nothing. Raises ValueError without support.
    """
    if inputs.support is None:
        raise ValueError("support: found none, expected both distributions on the teacher's likeliest ids")
    loss, metrics = _weighted(inputs, divergence(inputs.support, "renorm", "reverse"))
    return loss, state, metrics


def _weighted(inputs: LossInputs, distance: "Tensor") -> "tuple[Tensor, Metrics]":
    distance = _known(inputs, distance)
    return inputs.advantage * distance, {"teacher_distance": float(distance.detach().mean())}


def _known(inputs: LossInputs, values: "Tensor") -> "Tensor":
    """Return `values` [M], 0 where the teacher scored nothing."""
    return values if inputs.known is None else values.masked_fill(~inputs.known, 0)


TEACHER_K3: "Method[LossInputs, Tensor]" = Method(teacher_k3, TeacherK3Params)
TEACHER_KL: "Method[LossInputs, Tensor]" = Method(teacher_kl, TeacherKlParams)
