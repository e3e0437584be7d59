"""Pieces of a layer with hand-written gradients: fewer passes over memory than autograd's composition.

Each equals its formula in plain torch up to rounding; the tests compare them in float64.
"""

from typing import Any

import torch
from torch import Tensor


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        scale = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, scale)
        return (x * scale).mul_(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, scale = ctx.saved_tensors
        normed, scaled = x * scale, gradients[0] * weight
        for_weight = (gradients[0] * normed).sum_to_size(weight.shape)
        projection = (scaled * normed).mean(dim=-1, keepdim=True)
        return scaled.sub_(normed.mul_(projection)).mul_(scale), for_weight, None


class _Rotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _rotated(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _rotated(gradients[0], cos, -sin), None, None


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return (x * cos).addcmul_(torch.cat([second, first], dim=-1), sin)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension; `weight` broadcasts against `x` from the right."""
    normed: Tensor = _RmsNorm.apply(x, weight, eps)  # type: ignore[no-untyped-call]
    return normed


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: x cos + swap(x) sin, swap exchanging the halves of the last dimension.

    `sin` carries the sign: (-sin, +sin) over the two halves.
    """
    rotated: Tensor = _Rotate.apply(x, cos, sin)  # type: ignore[no-untyped-call]
    return rotated
