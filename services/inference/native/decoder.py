"""The forward pass over cached keys and values, for one new token a sequence or a chunk of a prompt. Eager torch."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hone.models.architecture import Architecture
from services.inference.native.cache import Cache
from services.inference.native.weights import Layer, Weights


@dataclass(frozen=True)
class Pass:
    """Where the tokens of one forward pass stand: `width` consecutive positions of each of `count` sequences."""

    count: int
    width: int
    rows: Tensor | None  # slot of each sequence; None: slots 0 … count-1
    reach: int  # cached positions that are looked at, new ones included
    rotation: Tensor  # complex [count·width, 1, head_dim/2]
    index: Tensor  # [count·width·kv_heads], where new keys and values go in the flattened cache
    bias: Tensor  # [count·kv_heads, width·heads/kv_heads, reach], 0 or -inf


class Decoder:
    """Runs a version's weights over a cache; `install` replaces the weights between passes."""

    def __init__(self, architecture: Architecture, weights: Weights, positions: int) -> None:
        self.architecture, self._weights = architecture, weights
        self._rotations = _rotations(architecture, positions)

    def install(self, weights: Weights) -> None:
        """Use `weights` from the next pass on."""
        self._weights = weights

    def plan(self, cache: Cache, positions: Tensor, rows: Tensor | None, reach: int) -> Pass:
        """Return the pass over `positions` [count, width] of the slots `rows` (None: the first `count`)."""
        count, width = positions.shape
        slots = torch.arange(count) if rows is None else rows
        heads = torch.arange(self.architecture.kv_heads)
        lines = slots[:, None] * self.architecture.kv_heads + heads  # [count, kv_heads]
        index = lines[:, None, :] * cache.positions + positions[:, :, None]
        return Pass(
            count, width, rows, reach, rotation=self._rotations[positions.reshape(-1)].unsqueeze(1),
            index=index.reshape(-1), bias=self._bias(positions, reach),
        )

    def hidden(self, cache: Cache, ids: Tensor, step: Pass) -> Tensor:
        """Return the last hidden states [count·width, hidden] of tokens `ids`, before the final norm."""
        hidden = self._weights.embedding[ids]
        for number, layer in enumerate(self._weights.layers):
            hidden = layer.out.times_plus(self._attended(cache, number, layer, hidden, step), hidden)
            normed = self._normed(hidden)
            hidden = layer.down.times_plus(layer.up.times_by(normed, layer.gate.silu_times(normed)), hidden)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits [rows, vocabulary padded]; padding is -inf."""
        return self._weights.logits.times(self._normed(hidden))

    def _attended(self, cache: Cache, number: int, layer: Layer, hidden: Tensor, step: Pass) -> Tensor:
        shape, heads = self.architecture, self.architecture.heads
        qkv = layer.qkv.times(self._normed(hidden))
        rotated = self._rotated(layer, qkv[:, :shape.queries + shape.keys], step)
        keys, values = cache.keys[number], cache.values[number]
        _store(keys, step.index, rotated[:, heads:])
        _store(values, step.index, qkv[:, shape.queries + shape.keys:])
        scores = torch.baddbmm(step.bias, self._queries(rotated[:, :heads], step), _seen(keys, step).transpose(1, 2))
        mixed = torch.bmm(torch.softmax(scores, -1), _seen(values, step))
        mixed = mixed.view(step.count, shape.kv_heads, step.width, -1).transpose(1, 2)
        return mixed.reshape(step.count * step.width, shape.queries)

    def _rotated(self, layer: Layer, heads: Tensor, step: Pass) -> Tensor:
        heads = heads.view(len(heads), -1, self.architecture.head_dim)
        if layer.head_norm is not None:
            heads = self._normed(heads).mul_(layer.head_norm)
        pairs = heads.view(*heads.shape[:2], -1, 2)
        torch.view_as_complex(pairs).mul_(step.rotation)
        return heads

    def _queries(self, queries: Tensor, step: Pass) -> Tensor:
        shape = self.architecture
        grouped = queries.reshape(step.count, step.width, shape.kv_heads, -1).transpose(1, 2)
        return grouped.reshape(step.count * shape.kv_heads, -1, shape.head_dim)

    def _normed(self, values: Tensor) -> Tensor:
        return values * values.square().mean(-1, keepdim=True).add_(self.architecture.norm_eps).rsqrt_()

    def _bias(self, positions: Tensor, reach: int) -> Tensor:
        count, width = positions.shape
        groups = self.architecture.heads // self.architecture.kv_heads
        unseen = torch.arange(reach) > positions[:, None, :, None, None]  # [count, 1, width, 1, reach]
        bias = torch.zeros(unseen.shape).masked_fill_(unseen, -torch.inf)
        bias = bias.expand(count, self.architecture.kv_heads, width, groups, reach)
        return bias.reshape(count * self.architecture.kv_heads, width * groups, reach)


def _rotations(architecture: Architecture, positions: int) -> Tensor:
    """Return e^(i·angle) [positions, head_dim/2]; angles in float32 as stock implementations take them."""
    half = torch.arange(0, architecture.head_dim, 2, dtype=torch.float32) / architecture.head_dim
    frequencies = 1.0 / (architecture.rope_theta ** half)
    angles = torch.arange(positions, dtype=torch.float32)[:, None] * frequencies
    return torch.complex(angles.cos(), angles.sin())


def _store(layer: Tensor, index: Tensor, new: Tensor) -> None:
    layer.view(-1, layer.shape[-1]).index_copy_(0, index, new.reshape(-1, layer.shape[-1]))


def _seen(layer: Tensor, step: Pass) -> Tensor:
    lines = layer[:step.count] if step.rows is None else layer[step.rows, :, :step.reach]
    return lines.view(-1, *lines.shape[2:])[:, :step.reach]
