"""Attention over the flat tokens of a micro-batch: compiled loops for short contexts, padded products for long ones.

The loops (`attention_kernels`) read spans without padding. They run on a CPU, for as many positions as its caches hold.
All other spans are padded into a few buckets of equal shape, which torch's kernels compute. The tests compare both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from hone.models.attention_kernels import attention, attention_gradient
from hone.models.policy_operators import gather
from hone.trajectory.packing import Flags, Ints

NEAR = 1024
"""Largest number of positions of a span that the loops compute. At about twice as many the products are as fast."""


@dataclass(frozen=True)
class Bucket:
    """R spans of the flat tokens, padded to the same shape: L queries, and L keys behind C keys of context.

    If contexts are not longer than spans, their tokens are queries too, and attention is causal: half of a square costs
    less than a masked rectangle. Padded queries repeat a real token. Their outputs, and those of context queries, are
    not read. Padded keys come after all queries that are read, or are hidden by `visible`.
    """

    queries: Ints  # [R, L], or [R, C + L] if contexts are queries too; indices of flat tokens
    keys: Ints  # [R, C + L]
    visible: Flags | None  # [L, C + L], or [R, L, C + L] if contexts differ in length; None: causal


@dataclass(frozen=True)
class Layout:
    """How the attention of N flat tokens is computed. It is made once for all layers."""

    near: Ints  # [P, 4], spans that the loops compute
    behind: Ints  # [S], indices of the tokens in the spans' contexts
    far: list[tuple[Tensor, Tensor, Tensor | None]]  # of each bucket: queries [R, L], keys [R, S], additive mask
    restore: Tensor | None  # [N], each token's index in the outputs; None: the loops compute all tokens


def laid_out(spans: Ints, behind: Ints, tokens: int, device: torch.device) -> Layout:
    """Return how attention over these spans [P, 4] and contexts [S] of `tokens` flat tokens runs on a device."""
    near = (spans[:, 1] + spans[:, 3] <= NEAR) & (device.type == "cpu")
    if near.all():
        return Layout(spans, behind, [], None)
    buckets, places = padded(spans[~near], behind, tokens)
    own = np.arange(tokens) if near.any() else np.zeros(tokens, np.int64)
    restore = np.where(places < 0, own, places + (tokens if near.any() else 0))
    far = [_placed(bucket, device) for bucket in buckets]
    return Layout(spans[near], behind, far, torch.from_numpy(restore).to(device))


def attend(query: Tensor, key: Tensor, value: Tensor, layout: Layout) -> Tensor:
    """Return the attention outputs [N, H · size] of queries [N, H, size], keys and values [N, K, size].

    The output of a token that is in no span is undefined.
    """
    parts: list[Tensor] = []
    if len(layout.near):
        parts.append(_Near.apply(query, key, value, layout.near, layout.behind))  # type: ignore[no-untyped-call]
    if layout.far:
        queries, keys, masks = zip(*layout.far, strict=True)
        states = zip(gather(query, queries), gather(key, keys), gather(value, keys), masks, strict=True)
        parts += [_mixed(*each) for each in states]
    return parts[0] if layout.restore is None else torch.cat(parts).index_select(0, layout.restore)


def padded(spans: Ints, behind: Ints, tokens: int) -> tuple[list[Bucket], Ints]:
    """Return buckets of spans [P, 4] of similar context and length, and the index of each flat token in their outputs.

    A span is (start, length, first, before). Each of its tokens attends to the tokens `behind[first:first + before]`
    and to the span's tokens up to itself. Outputs of buckets are consecutive. A token in no span has the index -1.
    """
    classes = np.stack([_size_class(spans[:, 3]), _size_class(spans[:, 1])], axis=1)
    restore, buckets, filled = np.full(tokens, -1), [], 0
    ended = np.append(behind, 0)  # an index that is never read, for spans without context
    for size in np.unique(classes, axis=0):
        bucket, real = _bucket(spans[(classes == size).all(axis=1)], ended)
        outputs = filled + np.arange(bucket.queries.size).reshape(bucket.queries.shape)
        restore[bucket.queries[real]] = outputs[real]
        buckets.append(bucket)
        filled += bucket.queries.size
    return buckets, restore


def _size_class(sizes: Ints) -> Ints:
    """Return 0 for 0, else the exponent of the next power of the square root of 2; sizes up to 8 are one class."""
    return np.where(sizes > 0, np.ceil(2 * np.log2(np.maximum(sizes, 8))), 0).astype(np.int64)


def _bucket(spans: Ints, behind: Ints) -> tuple[Bucket, Flags]:
    """Return the padded spans, and whether each query is read, [R, queries]."""
    start, length, first, before = (spans[:, column, None] for column in range(4))
    if before.max() <= length.max():
        return _causal(start, length, before, behind[first + np.minimum(np.arange(before.max()), before)])
    steps, backwards = np.arange(length.max()), np.arange(-before.max(), 0)
    queries = start + np.minimum(steps, length - 1)
    keys = np.concatenate([behind[first + np.maximum(before + backwards, 0)], queries], axis=1)
    return Bucket(queries, keys, _visible(before, len(backwards), len(steps))), steps < length


def _causal(start: Ints, length: Ints, before: Ints, context: Ints) -> tuple[Bucket, Flags]:
    steps = np.arange((before + length).max())
    places = start + np.clip(steps - before, 0, length - 1)
    most = context.shape[1]
    places[:, :most] = np.where(steps[:most] < before, context, places[:, :most])
    return Bucket(places, places, None), (steps >= before) & (steps < before + length)


def _visible(before: Ints, context: int, length: int) -> Flags:
    causal = np.tri(length, dtype=np.bool_)
    if (before == context).all():
        return np.concatenate([np.ones((length, context), np.bool_), causal], axis=1)
    known = np.arange(context) >= context - before
    shape = (len(before), length)
    return np.concatenate([
        np.broadcast_to(known[:, None], (*shape, context)), np.broadcast_to(causal, (*shape, length)),
    ], axis=2)


def _placed(bucket: Bucket, device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
    queries, keys = (torch.from_numpy(places).to(device) for places in (bucket.queries, bucket.keys))
    if bucket.visible is None:
        return queries, keys, None
    visible = torch.from_numpy(bucket.visible).to(device)
    mask = torch.zeros(visible.shape, device=device).masked_fill_(~visible, -torch.inf)
    return queries, keys, mask if mask.dim() == 2 else mask[:, None]


def _mixed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Return the attention outputs of one bucket, [R · L, H · size]; inputs are [R, L or S, heads, size]."""
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
