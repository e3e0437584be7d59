"""Parts of a layer with hand-written gradients, which take one pass over memory instead of autograd's many.

On a CPU in float32 they are compiled loops (`policy_kernels`). Elsewhere they are plain torch, which has fused kernels
there. The tests compare both.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from hone.models import policy_kernels
from hone.models.policy_kernels import Floats


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return x, and x / sqrt(mean(x^2) + eps) * weight over the last dimension; x [N, size], weight [size].

    If the caller uses the returned x instead of its own, both gradients of x are computed in one pass.
    """
    if not _compiled(x):
        return x, F.rms_norm(x, (x.shape[1],), weight, eps)
    same, normed = _RmsNorm.apply(x, weight, eps)  # type: ignore[no-untyped-call]
    return same, normed


def heads(
    flat: Tensor, norms: Tensor, cos: Tensor, sin: Tensor, eps: float, kv_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries [N, H, size], keys and values [N, kv_heads, size] of `flat` [N, (H + 2 kv_heads) · size].

    Queries and keys are normed by `norms` [H + kv_heads, size] if it has rows, and rotated: the halves of a head are
    real and imaginary parts, turned by the angles of `cos` and `sin` [N, size / 2].
    """
    if not _compiled(flat):
        return _heads(flat, norms, cos, sin, eps, kv_heads)
    query, key, value = _Heads.apply(flat, norms, cos, sin, eps, kv_heads)  # type: ignore[no-untyped-call]
    return query, key, value


def gated(gate: Tensor, up: Tensor) -> Tensor:
    """Return silu(gate) · up, all [N, size]."""
    if not _compiled(gate):
        return F.silu(gate) * up
    product: Tensor = _Gated.apply(gate, up)  # type: ignore[no-untyped-call]
    return product


def taken(rows: Tensor, places: Tensor | None) -> Tensor:
    """Return rows [N, size] at the indices `places` [M], as [M, size]; without places return all rows."""
    if places is None:
        return rows
    if not _compiled(rows):
        return F.embedding(places, rows)  # its gradient is added in the same order every time
    found: Tensor = _Taken.apply(rows, places)  # type: ignore[no-untyped-call]
    return found


def gather(states: Tensor, places: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return states [N, ...] at each of the indices `places` [R, L], as [R, L, ...]; gradients are added in place."""
    gathered: tuple[Tensor, ...] = _Gather.apply(states, *places)  # type: ignore[no-untyped-call]
    return gathered


def _compiled(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dtype == torch.float32


def _heads(
    flat: Tensor, norms: Tensor, cos: Tensor, sin: Tensor, eps: float, kv_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    size = norms.shape[1]
    states = flat.view(len(flat), -1, size)
    turned, value = torch.split(states, [states.shape[1] - kv_heads, kv_heads], dim=1)
    if len(norms):
        turned = F.rms_norm(turned, (size,), None, eps) * norms
    first, second = turned.chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    query, key = torch.split(turned, [turned.shape[1] - kv_heads, kv_heads], dim=1)
    return query, key, value


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        out, scale = torch.empty_like(x), x.new_empty(len(x))
        policy_kernels.rms_norm(_array(x), _copy(weight), np.float32(eps), out.numpy(), scale.numpy())
        ctx.save_for_backward(x, weight, scale)
        return x, out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, scale = ctx.saved_tensors
        for_x, for_weight = torch.empty_like(x), torch.zeros_like(weight)
        policy_kernels.rms_norm_gradient(*map(_array, gradients), _array(x), _copy(weight), scale.numpy(),
                                         for_x.numpy(), for_weight.numpy())
        return for_x, for_weight, None


class _Heads(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, flat: Tensor, norms: Tensor, cos: Tensor, sin: Tensor, eps: float, kv_heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows, size = len(flat), norms.shape[1]
        count = flat.shape[1] // size - 2 * kv_heads
        query, key = flat.new_empty(rows, count, size), flat.new_empty(rows, kv_heads, size)
        value, scale = torch.empty_like(key), flat.new_empty(rows, count + kv_heads)
        policy_kernels.heads(_array(flat), _array(norms), _array(cos), _array(sin), np.float32(eps), query.numpy(),
                             key.numpy(), value.numpy(), scale.numpy())
        ctx.save_for_backward(flat, norms, cos, sin, scale)
        return query, key, value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        flat, norms, cos, sin, scale = ctx.saved_tensors
        for_flat, for_norms = torch.empty_like(flat), torch.zeros_like(norms)
        policy_kernels.heads_gradient(*map(_array, (*gradients, flat, norms, cos, sin, scale)), for_flat.numpy(),
                                      for_norms.numpy())
        return for_flat, for_norms, None, None, None, None


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        out = torch.empty_like(gate)
        policy_kernels.gated(_array(gate), _array(up), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        gate, up = ctx.saved_tensors
        for_gate, for_up = torch.empty_like(gate), torch.empty_like(up)
        policy_kernels.gated_gradient(_array(gradients[0]), _array(gate), _array(up), for_gate.numpy(), for_up.numpy())
        return for_gate, for_up


class _Taken(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.count = len(rows)
        return rows.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,), (places,) = gradients, ctx.saved_tensors
        for_rows = gradient.new_zeros(ctx.count, gradient.shape[1])
        policy_kernels.added(_array(gradient), places.numpy(), for_rows.numpy())
        return for_rows, None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, *places: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*places)
        ctx.shape = states.shape
        return tuple(states.index_select(0, each.reshape(-1)).view(*each.shape, *states.shape[1:]) for each in places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        total = gradients[0].new_zeros(ctx.shape)
        for places, gradient in zip(ctx.saved_tensors, gradients, strict=True):
            total.index_add_(0, places.reshape(-1), gradient.reshape(-1, *ctx.shape[1:]))
        return (total, *(None for _ in gradients))


def _copy(parameter: Tensor) -> Floats:
    """Return a copy of a parameter's numbers: the memory of a gathered parameter has to stay free to be released."""
    return _array(parameter.detach().clone())


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().contiguous().numpy()
    return array
