"""Regularizers (S9): terms with a coefficient, added to the per-token loss and aggregated like the loss."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hone.algorithms.inputs import RegularizerInputs
from hone.algorithms.method import Method
from hone.algorithms.regularizers.entropy import EntropyParams, entropy
from hone.algorithms.regularizers.kl import KlParams, kl
from hone.algorithms.regularizers.local_divergence import (
    ContextDistillationParams,
    LocalDivergenceParams,
    context_distillation,
    local_divergence,
)
from hone.algorithms.regularizers.sdar import SdarParams, sdar

if TYPE_CHECKING:
    from torch import Tensor

REGULARIZERS: "Mapping[str, Method[RegularizerInputs, Tensor]]" = {
    "kl": Method(kl, KlParams),
    "entropy": Method(entropy, EntropyParams),
    "local_divergence": Method(local_divergence, LocalDivergenceParams),
    "context_distillation": Method(context_distillation, ContextDistillationParams),
    "sdar": Method(sdar, SdarParams),
}
