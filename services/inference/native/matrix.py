"""A weight matrix as the decoder multiplies by it: packed once for oneDNN, with what follows fused into the product.

The packed kernels take few rows at up to twice the speed of a plain product, which packs the matrix at every call, and
a row's bits do not depend on how many rows there are. Where torch comes without oneDNN the plain product is used.

In bfloat16 rows and weights are rounded to it before a product, and its result after; sums are float32 throughout.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

_PACKED = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


def takes_bfloat16() -> bool:
    """Whether this processor has instructions that multiply bfloat16 matrices, or oneDNN a way to do without."""
    return _PACKED and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


class Matrix:
    """Multiplies rows [N, in] by `weight` [out, in], transposed, and adds `bias` [out]; computes in `dtype`."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, dtype: torch.dtype = torch.float32) -> None:
        self.dtype = dtype
        self._bias = None if bias is None else bias.to(dtype)
        whole = weight.to(dtype).contiguous()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(whole, None) if _PACKED else whole

    def times(self, rows: Tensor) -> Tensor:
        """Return rows · weightᵀ + bias, [N, out] float32."""
        taken = rows.to(self.dtype)
        made = self._fused(taken, "none") if _PACKED else F.linear(taken, self._weight, self._bias)
        return made.float()

    def silu_times(self, rows: Tensor) -> Tensor:
        """Return silu(rows · weightᵀ + bias), [N, out] of `dtype`, as `rows` are."""
        return self._fused(rows, "swish", 1.0) if _PACKED else F.silu(F.linear(rows, self._weight, self._bias))

    def times_by(self, rows: Tensor, factor: Tensor) -> Tensor:
        """Return (rows · weightᵀ + bias) · factor element by element; all are of `dtype`, `factor` is [N, out]."""
        return self._with(rows, factor, "mul") if _PACKED else F.linear(rows, self._weight, self._bias).mul_(factor)

    def times_plus(self, rows: Tensor, summand: Tensor) -> Tensor:
        """Return rows · weightᵀ + bias + summand, [N, out] float32, as `summand` is."""
        if _PACKED and self.dtype == torch.float32:
            return self._with(rows, summand, "add")
        return summand + self.times(rows)

    def _fused(self, rows: Tensor, function: str, *arguments: float) -> Tensor:
        made: Tensor = torch.ops.mkldnn._linear_pointwise(
            rows, self._weight, self._bias, function, list(arguments), "")
        return made

    def _with(self, rows: Tensor, other: Tensor, operation: str) -> Tensor:
        made: Tensor = torch.ops.mkldnn._linear_pointwise.binary(rows, other, self._weight, self._bias, operation)
        return made
