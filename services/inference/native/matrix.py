"""A weight matrix that is packed once for oneDNN, with products that include the next operation.

A packed product of few rows is up to twice as fast as a plain one, which packs the matrix at each call. The bits of a
row do not depend on the number of rows. If torch has no oneDNN, plain products are used.

In bfloat16, rows and weights are rounded before a product and the result after it; sums are float32.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

_PACKED = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


def takes_bfloat16() -> bool:
    """Whether oneDNN can multiply bfloat16 matrices on this processor."""
    return _PACKED and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


class Matrix:
    """Multiplies rows [N, in] by `weight` [out, in], transposed, and adds `bias` [out]; computes in `dtype`."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, dtype: torch.dtype = torch.float32) -> None:
        self.dtype = dtype
        self._bias = None if bias is None else bias.to(dtype)
        whole = weight.to(dtype).contiguous()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(whole, None) if _PACKED else whole

    def times(self, rows: Tensor) -> Tensor:
        """Return rows · weightᵀ + bias [N, out], float32."""
        taken = rows.to(self.dtype)
        made = self._fused(taken, "none") if _PACKED else F.linear(taken, self._weight, self._bias)
        return made.float()

    def silu_times(self, rows: Tensor) -> Tensor:
        """Return silu(rows · weightᵀ + bias) [N, out]; rows and result have `dtype`."""
        return self._fused(rows, "swish", 1.0) if _PACKED else F.silu(F.linear(rows, self._weight, self._bias))

    def times_by(self, rows: Tensor, factor: Tensor) -> Tensor:
        """Return (rows · weightᵀ + bias) times `factor` [N, out], element by element; all have `dtype`."""
        return self._with(rows, factor, "mul") if _PACKED else F.linear(rows, self._weight, self._bias).mul_(factor)

    def times_plus(self, rows: Tensor, summand: Tensor) -> Tensor:
        """Return rows · weightᵀ + bias + summand [N, out]; summand and result are float32."""
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
