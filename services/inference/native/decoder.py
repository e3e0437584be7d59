"""The forward pass over cached keys and values: for one new token of each sequence, or for chunks of prompts.

oneDNN computes the matrix products, and `kernels` the float32 steps between them. The attention of a chunk is a product
of whole tensors.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hone.models import rotary
from hone.models.architecture import Architecture
from services.inference.native import kernels
from services.inference.native.attention import attention
from services.inference.native.cache import Cache
from services.inference.native.kernels import Floats, Places
from services.inference.native.weights import Weights


@dataclass(frozen=True)
class Pass:
    """The slots and positions of the N tokens of one forward pass: `width` consecutive positions of each sequence."""

    slots: Places  # [N]
    blocks: Places  # [N], the cache blocks of the positions
    positions: Places  # [N], ascending within a sequence
    width: int  # 1 for decoding: the newest token of each sequence


class Decoder:
    """Runs a version's weights over a cache. `install` comes before the first pass and between passes."""

    _weights: Weights

    def __init__(self, architecture: Architecture, positions: int) -> None:
        self.architecture = architecture
        self._rotations = _rotations(architecture, positions)
        self._epsilon = np.float32(architecture.norm_eps)
        self._attention = attention(architecture.heads, architecture.kv_heads, architecture.head_dim)

    def install(self, weights: Weights) -> None:
        """Use `weights` from the next pass on."""
        self._weights = weights

    def hidden(self, cache: Cache, ids: Tensor, step: Pass, wanted: Tensor | None = None) -> Tensor:
        """Cache the keys and values of tokens `ids` [N], and return their last hidden states before the final norm.

        With `wanted` [M], indices of tokens, only these states are returned: [M, hidden] instead of [N, hidden].
        """
        hidden, last = self._weights.embedding.index_select(0, ids), len(self._weights.layers) - 1
        for number, layer in enumerate(self._weights.layers):
            attended = self._attended(cache, number, self._qkv(number, ids, hidden), step)
            if wanted is not None and number == last:
                attended, hidden = attended[wanted], hidden[wanted]
            hidden = layer.out.times_plus(attended, hidden)
            normed = self._normed(hidden).to(layer.gate.dtype)
            hidden = layer.down.times_plus(layer.up.times_by(normed, layer.gate.silu_times(normed)), hidden)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits [rows, padded vocabulary]; the padding is -inf."""
        return self._weights.logits.times(self._normed(hidden))

    def _normed(self, rows: Tensor) -> Tensor:
        out = torch.empty_like(rows)
        kernels.normalize(rows.numpy(), self._epsilon, out.numpy())
        return out

    def _qkv(self, number: int, ids: Tensor, hidden: Tensor) -> Tensor:
        """Return the queries, keys and values of tokens as rows [N, queries + 2 keys], which the caller may change."""
        if number == 0 and self._weights.first is not None:
            return self._weights.first.index_select(0, ids)
        return self._weights.layers[number].qkv.times(self._normed(hidden))

    def _attended(self, cache: Cache, number: int, qkv: Tensor, step: Pass) -> Tensor:
        keys, values = cache.keys[number], cache.values[number]
        kernels.cache_rows(qkv.numpy(), self._weights.layers[number].head_norm, self._rotations, step.blocks,
                       step.positions, self._epsilon, keys.numpy(), values.numpy())
        if step.width > 1:
            return self._chunk(qkv, cache, number, step)
        mixed = torch.empty(len(qkv), self.architecture.queries)
        self._attention(qkv.numpy(), keys.numpy(), values.numpy(), cache.table, step.slots, step.positions,
                        mixed.numpy())
        return mixed

    def _chunk(self, qkv: Tensor, cache: Cache, number: int, step: Pass) -> Tensor:
        """Return the attention's result [N, queries] for chunks that all start at the same position."""
        shape, width = self.architecture, step.width
        slots, reach = step.slots[::width], int(step.positions[-1]) + 1
        queries = qkv[:, :shape.queries].reshape(len(slots), width, shape.kv_heads, -1).transpose(1, 2)
        queries = queries.reshape(len(slots) * shape.kv_heads, -1, shape.head_dim)
        keys, values = cache.keys_and_values(number, slots, reach)
        scores = torch.baddbmm(self._bias(step.positions[:width], reach), queries, keys)
        mixed = torch.bmm(torch.softmax(scores, -1), values)
        mixed = mixed.view(len(slots), shape.kv_heads, width, -1).transpose(1, 2)
        return mixed.reshape(len(slots) * width, shape.queries)

    def _bias(self, positions: Places, reach: int) -> Tensor:
        """Return [1, width · heads / kv_heads, reach]: 0 where a query of a chunk sees a position, -inf elsewhere."""
        unseen = torch.arange(reach) > torch.from_numpy(positions)[:, None]
        bias = torch.zeros(unseen.shape).masked_fill_(unseen, -torch.inf)
        return bias.repeat_interleave(self.architecture.heads // self.architecture.kv_heads, 0)[None]


def one_token(cache: Cache, slots: Places, positions: Places) -> Pass:
    """Return the pass over position `positions[n]` of slot `slots[n]`, for every n."""
    return Pass(slots, cache.blocks_of(slots, positions), positions, 1)


def chunk(cache: Cache, slots: Places, start: int, width: int) -> Pass:
    """Return the pass over `width` positions from `start` on of each of `slots`."""
    each, positions = np.repeat(slots, width), np.tile(np.arange(start, start + width), len(slots))
    return Pass(each, cache.blocks_of(each, positions), positions, width)


def _rotations(architecture: Architecture, positions: int) -> Floats:
    """Return cosines and sines [2, positions, head_dim / 2]. Angles are float32, as in the stock implementations."""
    cos, sin = rotary.turns(torch.arange(positions), rotary.frequencies(architecture), architecture.rope)
    rotations: Floats = torch.stack([cos, sin]).numpy()
    return rotations
