"""A decoder in training, of which the policy and the critic are made. Parameters have the names of checkpoints.

Parameters are made without values, on the meta device, and filled by `PackedDecoder`. Every projection runs on flat
tokens without padding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hone.models import rotary
from hone.models.adapter import Lora
from hone.models.architecture import Architecture
from hone.models.attention import Layout, attend, laid_out
from hone.models.linear import linear, linear_plus
from hone.models.policy_operators import gated, heads, rms_norm, taken
from hone.models.ranks import Ranks
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Ints

_TILE = 64
"""Arrays are padded to multiples of it: kernels are built for each shape at its first use, so few shapes are used."""


@dataclass(frozen=True)
class Shared:
    """Inputs of every layer in the forward of a micro-batch."""

    cos: Tensor  # [N, head_dim / 2]
    sin: Tensor  # [N, head_dim / 2]
    layout: Layout
    adapted: bool  # whether adapters are used


class Weight(nn.Module):
    """A module with one parameter, `weight`."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = _parameter(*shape)


class Norm(Weight):
    """An RMS norm over the last dimension."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__(size)
        self._eps = eps

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return hidden [N, size], and hidden normed. A caller that uses both takes both from here: see `rms_norm`."""
        return rms_norm(hidden, self.weight, self._eps)


class Projection(Weight):
    """W [out, in], with a bias and an adapter if it has them."""

    def __init__(self, name: str, out: int, into: int, lora: Lora | None, bias: bool = False) -> None:
        super().__init__(out, into)
        self.bias = _parameter(out) if bias else None
        self._scale = 0.0
        if lora is not None and name in lora.targets:
            self._scale = lora.scale
            self.lora_A, self.lora_B = Weight(lora.rank, into), Weight(out, lora.rank)

    def forward(self, hidden: Tensor, adapted: bool) -> Tensor:
        """Return the projection of hidden [N, in], without bias, [N, out]."""
        plain, added = linear(hidden, self.weight), self.added(hidden, adapted)
        return plain if added is None else plain + added

    def plus(self, hidden: Tensor, summand: Tensor, adapted: bool) -> Tensor:
        """Return summand [N, out] + the projection of hidden [N, in], without bias."""
        plain, added = linear_plus(hidden, self.weight, summand), self.added(hidden, adapted)
        return plain if added is None else plain + added

    def added(self, hidden: Tensor, adapted: bool) -> Tensor | None:
        """Return the adapter's projection of hidden [N, in], [N, out]; None if there is none or it is not used."""
        if not adapted or not self._scale:
            return None
        return linear(linear(hidden, self.lora_A.weight), self.lora_B.weight) * self._scale


class Attention(nn.Module):
    """Grouped-query attention over flat tokens."""

    def __init__(self, shape: Architecture, lora: Lora | None) -> None:
        super().__init__()
        self._shape, bias = shape, shape.qkv_bias
        self.q_proj = Projection("q_proj", shape.queries, shape.hidden, lora, bias)
        self.k_proj = Projection("k_proj", shape.keys, shape.hidden, lora, bias)
        self.v_proj = Projection("v_proj", shape.keys, shape.hidden, lora, bias)
        self.o_proj = Projection("o_proj", shape.hidden, shape.queries, lora)
        if shape.qk_norm:
            self.q_norm, self.k_norm = Weight(shape.head_dim), Weight(shape.head_dim)

    def forward(
        self, hidden: Tensor, normed: Tensor, shared: Shared, which: Tensor | None, wanted: Tensor | None
    ) -> Tensor:
        """Return the wanted tokens' states after attention, [M, hidden]. See `Block.forward` for the arguments."""
        flat = taken(self._stacked(normed, shared.adapted), which)
        states = heads(flat, self._norms(normed), shared.cos, shared.sin, self._shape.norm_eps, self._shape.kv_heads)
        mixed = taken(attend(*states, shared.layout), wanted)
        return self.o_proj.plus(mixed, taken(taken(hidden, which), wanted), shared.adapted)

    def _norms(self, hidden: Tensor) -> Tensor:
        """Return the norms of queries and keys, [heads + kv_heads, head_dim]; no rows if the model has none."""
        shape = self._shape
        if not shape.qk_norm:
            return hidden.new_empty(0, shape.head_dim)
        return torch.cat([self.q_norm.weight.expand(shape.heads, -1), self.k_norm.weight.expand(shape.kv_heads, -1)])

    def _stacked(self, hidden: Tensor, adapted: bool) -> Tensor:
        """Return queries, keys and values of hidden [N, hidden] from one product, [N, queries + 2 keys]."""
        parts = (self.q_proj, self.k_proj, self.v_proj)
        biases = tuple(part.bias for part in parts if part.bias is not None)
        flat = linear(hidden, torch.cat([part.weight for part in parts]), torch.cat(biases) if biases else None)
        added = [part.added(hidden, adapted) for part in parts]
        if all(more is None for more in added):
            return flat
        widths = (len(part.weight) for part in parts)
        return flat + torch.cat([hidden.new_zeros(len(hidden), width) if more is None else more
                                 for more, width in zip(added, widths, strict=True)], dim=1)


class FeedForward(nn.Module):
    """Gated SiLU."""

    def __init__(self, shape: Architecture, lora: Lora | None) -> None:
        super().__init__()
        self.gate_proj = Projection("gate_proj", shape.ffn, shape.hidden, lora)
        self.up_proj = Projection("up_proj", shape.ffn, shape.hidden, lora)
        self.down_proj = Projection("down_proj", shape.hidden, shape.ffn, lora)

    def forward(self, hidden: Tensor, normed: Tensor, adapted: bool) -> Tensor:
        """Return hidden [N, hidden] + the layer's output for normed [N, hidden]."""
        gate, up = self.gate_proj(normed, adapted), self.up_proj(normed, adapted)
        return self.down_proj.plus(gated(gate, up), hidden, adapted)


class Block(nn.Module):
    """One layer. Several ranks gather one layer at a time."""

    def __init__(self, shape: Architecture, lora: Lora | None) -> None:
        super().__init__()
        self.input_layernorm = Norm(shape.hidden, shape.norm_eps)
        self.self_attn = Attention(shape, lora)
        self.post_attention_layernorm = Norm(shape.hidden, shape.norm_eps)
        self.mlp = FeedForward(shape, lora)

    def forward(
        self, hidden: Tensor, shared: Shared, which: Tensor | None = None, wanted: Tensor | None = None
    ) -> Tensor:
        """Return the states after this layer of the tokens `wanted` [M] (None: all N), [M, hidden].

        `hidden` [U, hidden] are the unique states before the layer, and `which[n]` is the index of token n's state
        (None: each token has its own). Results that depend on a token's state alone are computed once for each unique
        state, and results that only a token's own output needs are computed for the wanted tokens.
        """
        hidden = self.self_attn(*self.input_layernorm(hidden), shared, which, wanted)
        after: Tensor = self.mlp(*self.post_attention_layernorm(hidden), shared.adapted)
        return after


class Decoder(nn.Module):
    """Embedding, layers and the last norm."""

    def __init__(self, shape: Architecture, lora: Lora | None) -> None:
        super().__init__()
        self.embed_tokens = Weight(shape.vocab_size, shape.hidden)
        self.layers = nn.ModuleList(Block(shape, lora) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden, shape.norm_eps)

    def forward(self, ids: Tensor, which: Tensor, wanted: Tensor, shared: Shared) -> Tensor:
        """Return the final normed states of the tokens `wanted` [M], [M, hidden]; token n is ids[which[n]]."""
        hidden = F.embedding(ids, self.embed_tokens.weight)
        last = len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, shared, None if number else which, wanted if number == last else None)
        _, normed = self.norm(hidden)
        made: Tensor = normed
        return made


class PackedDecoder(nn.Module):
    """A decoder that reads micro-batches."""

    def __init__(self, architecture: Architecture, lora: Lora | None, ranks: Ranks) -> None:
        super().__init__()
        self.architecture, self._device = architecture, ranks.device
        self._frequencies = rotary.frequencies(architecture).to(ranks.device)
        self.model = Decoder(architecture, lora)

    def _fill(self, tensors: Mapping[str, Tensor], ranks: Ranks) -> None:
        for name, tensor in tensors.items():
            place, leaf = name.rsplit(".", 1)
            ranks.fill(self.get_submodule(place), leaf, tensor)

    def _predicting(self, batch: MicroBatch, adapted: bool, places: Ints | slice = slice(None)) -> Tensor:
        """Return the state that predicts each trained token at `places`, [M, hidden], padded to whole tiles."""
        ids, which = np.unique(np.pad(batch.ids, (0, -len(batch.ids) % _TILE)), return_inverse=True)
        wanted, of_each = np.unique(batch.predicting[places], return_inverse=True)
        states: Tensor = self.model(
            self._tiled(ids), self._tensor(which), self._tiled(wanted), self._shared(batch, adapted))
        return taken(states, self._tiled(of_each))

    def _shared(self, batch: MicroBatch, adapted: bool) -> Shared:
        cos, sin = rotary.turns(self._tiled(batch.positions), self._frequencies, self.architecture.rope)
        layout = laid_out(batch.spans, batch.behind, len(cos), self._device)
        return Shared(cos, sin, layout, adapted)

    def _tiled(self, array: Ints) -> Tensor:
        """Return an array of a micro-batch padded with zeros. Zeros are valid tokens and indices that nothing reads."""
        return self._tensor(np.pad(array, [(0, -len(array) % _TILE), *[(0, 0)] * (array.ndim - 1)]))

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(array).to(self._device)


def _parameter(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape, device="meta"))
