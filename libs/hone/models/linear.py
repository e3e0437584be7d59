"""A linear product and its gradients, by the faster of torch's two libraries for this CPU.

Plain torch multiplies float32 matrices with MKL. On Intel CPUs nothing is faster, and oneDNN is slower for a weight's
gradient and for few rows. On AMD CPUs MKL reaches from half to nine tenths of oneDNN's speed. On a GPU, and if torch is
built without oneDNN, this is plain torch.
"""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_CPUINFO = Path("/proc/cpuinfo")


def _of_intel() -> bool:
    return _CPUINFO.exists() and "GenuineIntel" in _CPUINFO.read_text()


_ONEDNN = bool(torch.backends.mkldnn.is_available()) and not _of_intel()  # type: ignore[no-untyped-call]


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return rows [N, in] · weight [out, in] transposed + bias [out], as [N, out]."""
    return _linear(rows, weight, bias) if _taken(rows, weight) else F.linear(rows, weight, bias)


def linear_plus(rows: Tensor, weight: Tensor, summand: Tensor) -> Tensor:
    """Return rows [N, in] · weight [out, in] transposed + summand [N, out]."""
    return _linear(rows, weight, summand) if _taken(rows, weight) else torch.addmm(summand, rows, weight.t())


def _taken(rows: Tensor, weight: Tensor) -> bool:
    return _ONEDNN and rows.device.type == "cpu" and rows.dtype == weight.dtype == torch.float32 and len(rows) > 0


def _linear(rows: Tensor, weight: Tensor, summand: Tensor | None) -> Tensor:
    made: Tensor = _Linear.apply(rows, weight, summand)  # type: ignore[no-untyped-call]
    return made


class _Linear(torch.autograd.Function):
    """The summand is one row for all, [out], or one row each, [N, out]."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, summand: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        ctx.for_all = summand is not None and summand.dim() == 1
        if summand is None or ctx.for_all:
            return _product(rows, weight, summand)
        return _product_plus(rows, weight, summand)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,), (rows, weight) = gradients, ctx.saved_tensors
        for_rows, for_weight, for_summand = ctx.needs_input_grad
        of_summand = gradient.sum(dim=0) if ctx.for_all else gradient
        return (
            _product(gradient, weight.t()) if for_rows else None,
            _weight_gradient(gradient, rows) if for_weight else None,
            of_summand if for_summand else None,
        )


def _weight_gradient(gradient: Tensor, rows: Tensor) -> Tensor:
    """Return gradient [N, out] transposed · rows [N, in], as [out, in], by the cheaper of two transpositions."""
    if gradient.shape[1] > rows.shape[1]:
        return _product(rows.t(), gradient.t()).t()
    return _product(gradient.t(), rows.t())


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    made: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return made


def _product_plus(rows: Tensor, weight: Tensor, summand: Tensor) -> Tensor:
    made: Tensor = torch.ops.mkldnn._linear_pointwise.binary(rows, summand, weight, None, "add")
    return made
