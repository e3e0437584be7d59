"""A decoder's layers in training: modules whose parameters are named as checkpoints name them.

Parameters are made without values (on the meta device); whoever owns the modules fills them.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hone.models.adapter import Lora
from hone.models.architecture import Architecture
from hone.models.attention import Layout, attend
from hone.models.linear import linear, linear_plus
from hone.models.policy_operators import gated, heads, rms_norm, taken


@dataclass(frozen=True)
class Shared:
    """What every layer of a micro-batch's forward reads."""

    cos: Tensor  # [N, head_dim / 2]
    sin: Tensor  # [N, head_dim / 2]
    layout: Layout
    adapted: bool  # whether adapters add what they have learnt


class Weight(nn.Module):
    """One tensor called `weight`."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = _parameter(*shape)


class Norm(Weight):
    """An RMS norm over the last dimension."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__(size)
        self._eps = eps

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return hidden [N, size], and normed: whoever goes on with both should take both from here."""
        return rms_norm(hidden, self.weight, self._eps)


class Projection(Weight):
    """W [out, in] with its bias and its adapter, where it has them."""

    def __init__(self, name: str, out: int, into: int, lora: Lora | None, bias: bool = False) -> None:
        super().__init__(out, into)
        self.bias = _parameter(out) if bias else None
        self._scale = 0.0
        if lora is not None and name in lora.targets:
            self._scale = lora.scale
            self.lora_A, self.lora_B = Weight(lora.rank, into), Weight(out, lora.rank)

    def forward(self, hidden: Tensor, adapted: bool) -> Tensor:
        """Return hidden [N, in] through a projection without bias, [N, out]."""
        plain, added = linear(hidden, self.weight), self.added(hidden, adapted)
        return plain if added is None else plain + added

    def plus(self, hidden: Tensor, summand: Tensor, adapted: bool) -> Tensor:
        """Return summand [N, out] and, added to it, hidden [N, in] through a projection without bias."""
        plain, added = linear_plus(hidden, self.weight, summand), self.added(hidden, adapted)
        return plain if added is None else plain + added

    def added(self, hidden: Tensor, adapted: bool) -> Tensor | None:
        """Return what the adapter adds for hidden [N, in], [N, out]; None where there is none or it is not wanted."""
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
        """Return the wanted tokens' states after attention, [M, hidden], as `Block.forward` has them."""
        flat = taken(self._stacked(normed, shared.adapted), which)
        states = heads(flat, self._norms(normed), shared.cos, shared.sin, self._shape.norm_eps, self._shape.kv_heads)
        mixed = taken(attend(*states, shared.layout), wanted)
        return self.o_proj.plus(mixed, taken(taken(hidden, which), wanted), shared.adapted)

    def _norms(self, hidden: Tensor) -> Tensor:
        """Return the norms of queries and keys, [heads + kv_heads, head_dim]; no rows where there are none."""
        shape = self._shape
        if not shape.qk_norm:
            return hidden.new_empty(0, shape.head_dim)
        return torch.cat([self.q_norm.weight.expand(shape.heads, -1), self.k_norm.weight.expand(shape.kv_heads, -1)])

    def _stacked(self, hidden: Tensor, adapted: bool) -> Tensor:
        """Return queries, keys and values of hidden [N, hidden] side by side, in one product, [N, queries + 2 keys]."""
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
        """Return hidden [N, hidden] and what the layer makes of it normed, added."""
        gate, up = self.gate_proj(normed, adapted), self.up_proj(normed, adapted)
        return self.down_proj.plus(gated(gate, up), hidden, adapted)


class Block(nn.Module):
    """One layer: what is gathered at a time where several processes hold the model."""

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

        `hidden` [U, hidden] are the states before it that differ; token n has that at `which[n]` (None: U is N, its
        own). What depends on nothing but a token's state is computed once for each of them, and what only a token's own
        output depends on for the wanted ones.
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
        """Return the final normed states of the tokens `wanted` [M], [M, hidden]; token n is ids[which[n]], of U."""
        hidden = F.embedding(ids, self.embed_tokens.weight)
        last = len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, shared, None if number else which, wanted if number == last else None)
        _, normed = self.norm(hidden)
        made: Tensor = normed
        return made


def _parameter(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape, device="meta"))
