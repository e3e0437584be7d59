"""A weight matrix as the decoder multiplies by it: packed once for oneDNN, with what follows fused into the product.

The packed kernels take few rows at up to twice the speed of a plain product, which packs the matrix at every call, and
a row's bits do not depend on how many rows there are. Where torch comes without oneDNN the plain product is used.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

_PACKED = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


class Matrix:
    """Multiplies rows [N, in] by `weight` [out, in], transposed, and adds `bias` [out]. float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._bias = bias
        whole = weight.contiguous()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(whole, None) if _PACKED else whole

    def times(self, rows: Tensor) -> Tensor:
        """Return rows · weightᵀ + bias, [N, out]."""
        return self._fused(rows, "none") if _PACKED else F.linear(rows, self._weight, self._bias)

    def silu_times(self, rows: Tensor) -> Tensor:
        """Return silu(rows · weightᵀ + bias), [N, out]."""
        return self._fused(rows, "swish", 1.0) if _PACKED else F.silu(F.linear(rows, self._weight, self._bias))

    def times_by(self, rows: Tensor, factor: Tensor) -> Tensor:
        """Return (rows · weightᵀ + bias) · factor element by element; `factor` is [N, out]."""
        return self._with(rows, factor, "mul") if _PACKED else F.linear(rows, self._weight, self._bias).mul_(factor)

    def times_plus(self, rows: Tensor, summand: Tensor) -> Tensor:
        """Return rows · weightᵀ + bias + summand; `summand` is [N, out]."""
        return self._with(rows, summand, "add") if _PACKED else F.linear(rows, self._weight, self._bias).add_(summand)

    def _fused(self, rows: Tensor, function: str, *arguments: float) -> Tensor:
        made: Tensor = torch.ops.mkldnn._linear_pointwise(
            rows, self._weight, self._bias, function, list(arguments), "")
        return made

    def _with(self, rows: Tensor, other: Tensor, operation: str) -> Tensor:
        made: Tensor = torch.ops.mkldnn._linear_pointwise.binary(rows, other, self._weight, self._bias, operation)
        return made
