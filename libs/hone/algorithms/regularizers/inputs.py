"""What terms beside the policy loss read: trained tokens of a micro-batch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Support:
    """What is kept of two distributions over the vocabulary at each token: K ids and the rest in one."""

    teacher: "Tensor"  # [M, K], log-probabilities of the K ids that the teacher finds likeliest
    student: "Tensor"  # [M, K], of the same ids under the current weights, with gradient
    rest: "Tensor"  # [M], log of the current weights' mass on all other ids, with gradient; -inf where K is everything


@dataclass(frozen=True)
class RegularizerInputs:
    """Trained tokens of a micro-batch, float32 [M]; what has a default only where the params need it."""

    logp: "Tensor"
    logp_ref: "Tensor | None" = None  # frozen reference
    entropy: "Tensor | None" = None  # of the whole distribution at the token, nats, with gradient
    logp_old: "Tensor | None" = None  # weights before the first update on this batch
    logp_teacher: "Tensor | None" = None  # teacher, or the policy with privileged context
    known: "Tensor | None" = None  # bool [M], where there is a teacher's word; None: everywhere
    support: Support | None = None
