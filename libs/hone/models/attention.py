"""Attention over the flat tokens of a micro-batch: compiled loops where few are seen, padded products elsewhere.

The loops (`attention_kernels`) take spans as they stand; they run on a processor, for as many positions as its caches
hold. All else is cut into buckets of like shape, which torch's own kernels take. The tests compare both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from hone.models.attention_kernels import attention, attention_gradient
from hone.models.policy_operators import gather
from hone.trajectory.buckets import Bucket, padded
from hone.trajectory.packing import Ints

NEAR = 1024
"""Positions that a span may see at most to be taken by the loops; their speed is the products' at about twice as many.
"""


@dataclass(frozen=True)
class Layout:
    """Which of N flat tokens see which, as it is computed; made once for all layers."""

    near: Ints  # [P, 4], spans that the loops take
    behind: Ints  # [S], places of what spans see before their own
    far: list[tuple[Tensor, Tensor, Tensor | None]]  # of each bucket: queries [R, L], keys [R, S], additive mask
    restore: Tensor | None  # [N], each token's place behind one another's outputs; None: all are the loops'


def laid_out(spans: Ints, behind: Ints, tokens: int, device: torch.device) -> Layout:
    """Return how `tokens` flat tokens with these spans [P, 4], and what those see [S], are computed on a device."""
    near = (spans[:, 1] + spans[:, 3] <= NEAR) & (device.type == "cpu")
    if near.all():
        return Layout(spans, behind, [], None)
    buckets, places = padded(spans[~near], behind, tokens)
    own = np.arange(tokens) if near.any() else np.zeros(tokens, np.int64)
    restore = np.where(places < 0, own, places + (tokens if near.any() else 0))
    far = [_placed(bucket, device) for bucket in buckets]
    return Layout(spans[near], behind, far, torch.from_numpy(restore).to(device))


def attend(query: Tensor, key: Tensor, value: Tensor, layout: Layout) -> Tensor:
    """Return what each token mixes, [N, H · size], of queries [N, H, size], keys and values [N, K, size].

    A token of no span mixes what nobody reads.
    """
    parts: list[Tensor] = []
    if len(layout.near):
        parts.append(_Near.apply(query, key, value, layout.near, layout.behind))  # type: ignore[no-untyped-call]
    if layout.far:
        queries, keys, masks = zip(*layout.far, strict=True)
        states = zip(gather(query, queries), gather(key, keys), gather(value, keys), masks, strict=True)
        parts += [_mixed(*each) for each in states]
    return parts[0] if layout.restore is None else torch.cat(parts).index_select(0, layout.restore)


def _placed(bucket: Bucket, device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
    queries, keys = (torch.from_numpy(places).to(device) for places in (bucket.queries, bucket.keys))
    if bucket.visible is None:
        return queries, keys, None
    visible = torch.from_numpy(bucket.visible).to(device)
    mask = torch.zeros(visible.shape, device=device).masked_fill_(~visible, -torch.inf)
    return queries, keys, mask if mask.dim() == 2 else mask[:, None]


def _mixed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Return the attention of one bucket, [R · L, H · size]; what is given is [R, L or S, heads, size]."""
    q, k, v = (states.transpose(1, 2) for states in (query, key, value))
    mixed = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=query.shape[2] != key.shape[2])
    return mixed.transpose(1, 2).flatten(0, 1).flatten(1)


class _Near(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, spans: Ints, behind: Ints) -> Tensor:
        out, logs = torch.zeros_like(query), query.new_empty(query.shape[:2])
        attention(query.shape[2])(*_arrays(query, key, value), spans, behind, *_arrays(out, logs))
        ctx.save_for_backward(query, key, value, out, logs)
        ctx.spans = spans, behind
        return out.flatten(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, logs = ctx.saved_tensors
        gradient = gradients[0].contiguous().view_as(out)
        found = [torch.zeros_like(states) for states in (query, key, value)]
        attention_gradient(query.shape[2])(
            *_arrays(gradient, query, key, value), *ctx.spans, *_arrays(out, logs, *found))
        return (*found, None, None)


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.detach().numpy() for tensor in tensors)
