"""The policy in training: log-probabilities of packed completions, with gradients.

    policy = Policy(architecture, tensors)              float32 leaves named as in the checkpoint
    policy = Policy(architecture, tensors, adapter)     the tensors stay; the adapter's are the leaves
    logp, entropy = policy(micro_batch, temperature)    [M] each, in the micro-batch's order

Every projection runs on the flat, un-padded tokens; only attention is padded, within buckets of like shape. The
arithmetic of a token equals a plain causal forward over its own prompt and completion, up to float rounding.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from hone.models.adapter import Lora, down_name, up_name
from hone.models.architecture import Architecture
from hone.models.policy_operators import rms_norm, rotate
from hone.trajectory.microbatches import Bucket, MicroBatch

_LOGITS_AT_ONCE = 1 << 24
"""Logits held at a time; beyond it they are computed in chunks and once more in the backward pass."""


@dataclass(frozen=True)
class _Attention:
    """Tensors that every layer of a micro-batch's forward shares."""

    cos: Tensor  # [N, 1, head_dim]
    sin: Tensor  # signed: minus in the first half
    buckets: list[tuple[Tensor, Tensor, Tensor | None]]  # queries [R, L], keys [R, S], additive mask
    restore: Tensor  # [N]


@dataclass(frozen=True)
class Adapter:
    """A low-rank adapter as a policy takes it; without tensors it leaves the base as it is."""

    lora: Lora
    tensors: Mapping[str, Tensor]


class Policy:
    """A decoder's parameters and its training forward."""

    def __init__(
        self, architecture: Architecture, tensors: Mapping[str, Tensor], adapter: Adapter | None = None
    ) -> None:
        """Copy `tensors`, named as `architecture.shapes()` names them, into float32 leaves.

        With an adapter its tensors are the leaves, and `tensors` are shared with whoever holds them.
        """
        self.architecture = architecture
        self.parameters = _leaves(tensors, architecture.shapes()) if adapter is None else (
            _leaves(adapter.tensors, adapter.tensors))
        self._tensors = self.parameters if adapter is None else {
            name: tensors[name].detach().to(torch.float32) for name in architecture.shapes()}
        self._scale = 0.0 if adapter is None else adapter.lora.scale

    def __call__(
        self, batch: MicroBatch, temperature: float = 1.0, *, entropy_gradient: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Return log-probability and entropy (nats) at the batch's trained tokens, float32 [M] each.

        Both are of the distribution softmax(logits / temperature). The entropy carries a gradient only if asked for.
        """
        hidden = self._hidden(batch).index_select(0, torch.from_numpy(batch.predicting))
        targets = torch.from_numpy(batch.targets)
        rows = max(1, _LOGITS_AT_ONCE // self.architecture.vocab_size)
        if len(targets) <= rows:
            return _head(hidden, self._output, targets, temperature, entropy_gradient)
        parts = [
            checkpoint(_head, part, self._output, target, temperature, entropy_gradient, use_reentrant=False)
            for part, target in zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True)
        ]
        return torch.cat([logp for logp, _ in parts]), torch.cat([entropy for _, entropy in parts])

    @property
    def _output(self) -> Tensor:
        return self._tensors["model.embed_tokens.weight" if self.architecture.tied else "lm_head.weight"]

    def _hidden(self, batch: MicroBatch) -> Tensor:
        """Return the final normed states, [N, hidden]."""
        attention = self._attention_plan(batch)
        hidden = F.embedding(torch.from_numpy(batch.ids), self._tensors["model.embed_tokens.weight"])
        for layer in range(self.architecture.layers):
            prefix = f"model.layers.{layer}."
            hidden = hidden + self._attend(prefix, self._norm(prefix + "input_layernorm", hidden), attention)
            hidden = hidden + self._feed_forward(prefix, self._norm(prefix + "post_attention_layernorm", hidden))
        return self._norm("model.norm", hidden)

    def _attention_plan(self, batch: MicroBatch) -> _Attention:
        size = self.architecture.head_dim
        exponents = torch.arange(0, size, 2, dtype=torch.int64).float() / size
        angles = torch.from_numpy(batch.positions).float()[:, None] * (1.0 / self.architecture.rope_theta**exponents)
        cos, sin = angles.cos(), angles.sin()
        return _Attention(
            torch.cat([cos, cos], dim=-1)[:, None], torch.cat([-sin, sin], dim=-1)[:, None],
            [_tensors(bucket) for bucket in batch.buckets], torch.from_numpy(batch.restore),
        )

    def _norm(self, name: str, hidden: Tensor) -> Tensor:
        return rms_norm(hidden, self._tensors[name + ".weight"], self.architecture.norm_eps)

    def _attend(self, prefix: str, hidden: Tensor, attention: _Attention) -> Tensor:
        heads, kv_heads, size = self.architecture.heads, self.architecture.kv_heads, self.architecture.head_dim
        query_key, value = self._projected(prefix + "self_attn.", hidden)
        query, key = torch.split(rotate(query_key, attention.cos, attention.sin), [heads, kv_heads], dim=1)
        outputs = []
        for queries, keys, mask in attention.buckets:
            q, k, v = (_gather(states, places) for states, places in ((query, queries), (key, keys), (value, keys)))
            mixed = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=heads != kv_heads
            )
            outputs.append(mixed.transpose(1, 2).reshape(-1, heads * size))
        flat = torch.cat(outputs).index_select(0, attention.restore)
        return self._linear(prefix + "self_attn.o_proj", flat)

    def _projected(self, prefix: str, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries and keys [N, heads + kv_heads, head_dim], normed where the family does, and values."""
        shape = self.architecture
        weight = torch.cat([self._tensors[f"{prefix}{name}_proj.weight"] for name in "qkv"])
        bias = torch.cat([self._tensors[f"{prefix}{name}_proj.bias"] for name in "qkv"]) if shape.qkv_bias else None
        flat = F.linear(hidden, weight, bias)
        added = [self._added(f"{prefix}{name}_proj", hidden) for name in "qkv"]
        if any(part is not None for part in added):
            widths = (shape.queries, shape.keys, shape.keys)
            flat = flat + torch.cat([hidden.new_zeros(len(hidden), width) if part is None else part
                                     for part, width in zip(added, widths, strict=True)], dim=1)
        states = flat.view(len(hidden), -1, shape.head_dim)
        query_key, value = torch.split(states, [shape.heads + shape.kv_heads, shape.kv_heads], dim=1)
        if shape.qk_norm:
            scales = [self._tensors[prefix + "q_norm.weight"].expand(shape.heads, -1),
                      self._tensors[prefix + "k_norm.weight"].expand(shape.kv_heads, -1)]
            query_key = rms_norm(query_key, torch.cat(scales), shape.norm_eps)
        return query_key, value

    def _feed_forward(self, prefix: str, hidden: Tensor) -> Tensor:
        gate, up = (self._linear(f"{prefix}mlp.{name}_proj", hidden) for name in ("gate", "up"))
        return self._linear(prefix + "mlp.down_proj", F.silu(gate) * up)

    def _linear(self, module: str, hidden: Tensor) -> Tensor:
        """Return hidden [N, in] through a projection without bias, its adapter included, [N, out]."""
        plain, added = F.linear(hidden, self._tensors[module + ".weight"]), self._added(module, hidden)
        return plain if added is None else plain + added

    def _added(self, module: str, hidden: Tensor) -> Tensor | None:
        """Return what the adapter adds to a projection, [N, out]; None where it has none there."""
        down = self.parameters.get(down_name(module))
        if down is None:
            return None
        return F.linear(F.linear(hidden, down), self.parameters[up_name(module)]) * self._scale


def _leaves(tensors: Mapping[str, Tensor], names: Iterable[str]) -> dict[str, Tensor]:
    return {name: tensors[name].detach().to(torch.float32, copy=True).requires_grad_() for name in names}


def _tensors(bucket: Bucket) -> tuple[Tensor, Tensor, Tensor | None]:
    mask = None
    if bucket.visible is not None:
        visible = torch.from_numpy(bucket.visible)
        mask = torch.zeros(visible.shape).masked_fill_(~visible, -torch.inf)
        mask = mask if mask.dim() == 2 else mask[:, None]
    return torch.from_numpy(bucket.queries), torch.from_numpy(bucket.keys), mask


def _gather(states: Tensor, places: Tensor) -> Tensor:
    """Return states [N, heads, d] at places [R, L] as [R, heads, L, d]."""
    picked = states.index_select(0, places.view(-1))
    return picked.view(*places.shape, *states.shape[1:]).transpose(1, 2)


def _head(
    hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float, entropy_gradient: bool
) -> tuple[Tensor, Tensor]:
    logp = torch.log_softmax(F.linear(hidden, weight) / temperature, dim=-1)
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropy = -(logp.exp() * logp).sum(dim=-1)
    return logp.gather(1, targets[:, None]).squeeze(1), entropy
