"""A linear product and its gradients by oneDNN, whose kernels do not depend on who made the processor.

Plain torch multiplies float32 matrices by MKL, which reaches half of the speed on AMD's. Elsewhere than on a processor,
and where torch comes without oneDNN, this is plain torch.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_ONEDNN = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return rows [N, in] · weight [out, in] transposed + bias [out], as [N, out]."""
    if not (_ONEDNN and rows.device.type == "cpu" and rows.dtype == weight.dtype == torch.float32 and len(rows)):
        return F.linear(rows, weight, bias)
    made: Tensor = _Linear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return made


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return _product(rows, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,), (rows, weight) = gradients, ctx.saved_tensors
        for_rows, for_weight, for_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight.t()) if for_rows else None,
            _weight_gradient(gradient, rows) if for_weight else None,
            gradient.sum(dim=0) if for_bias else None,
        )


def _weight_gradient(gradient: Tensor, rows: Tensor) -> Tensor:
    """Return gradient [N, out] transposed · rows [N, in], [out, in]; the wider is turned where that costs less."""
    if gradient.shape[1] > rows.shape[1]:
        return _product(rows.t(), gradient.t()).t()
    return _product(gradient.t(), rows.t())


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    made: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return made
