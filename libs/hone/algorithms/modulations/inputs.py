"""What modulators read: the trained tokens of a whole step. numpy, float64, everything without gradient."""

from dataclasses import dataclass

from hone.algorithms.advantages.inputs import Flags, Floats, Ints


@dataclass(frozen=True)
class ModulationInputs:
    """M trained tokens, trajectory after trajectory; what has a default is there where the params need it."""

    advantage: Floats  # [M], of S4
    tokens: Ints  # [B], trained tokens of each trajectory; sums to M
    logp: Floats | None = None  # [M], current weights, nats
    logp_old: Floats | None = None  # [M], weights before the first update on this batch
    entropy: Floats | None = None  # [M], of the whole distribution at the token, nats
    expected: Floats | None = None  # [M], sum over the vocabulary of p^2 (log p + entropy)
    logp_teacher: Floats | None = None  # [M], nats; -inf where the teacher cannot say the token
    known: Flags | None = None  # [M], where there is a teacher's word; None: everywhere
    step: int = 0  # steps of the run before this one
    clip_low: float = 0.2  # the band of the loss in S7
    clip_high: float = 0.2
    segment: Ints | None = None  # [M], number of the step or turn that the token belongs to; -1: to none
    score: Floats | None = None  # one for each number, in [0, 1]
