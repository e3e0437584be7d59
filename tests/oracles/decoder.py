"""A decoder's training forward as plain torch functions over a dict of tensors: no modules, nothing compiled."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from hone.models.adapter import Lora, down_name, up_name
from hone.models.architecture import Architecture
from hone.trajectory.microbatches import MicroBatch


def log_probabilities(
    shape: Architecture, tensors: Mapping[str, Tensor], batch: MicroBatch, lora: Lora | None = None
) -> Tensor:
    """Return the log-probabilities of a batch's trained tokens, [M]. `tensors` may hold those of an adapter."""
    cos, sin = rotary(shape, batch)
    hidden = F.embedding(torch.from_numpy(batch.ids), tensors["model.embed_tokens.weight"])
    for layer in range(shape.layers):
        prefix = f"model.layers.{layer}."
        normed = rms_norm(hidden, tensors[prefix + "input_layernorm.weight"], shape.norm_eps)
        hidden = hidden + attention(shape, tensors, prefix + "self_attn.", normed, batch, cos, sin, lora)
        normed = rms_norm(hidden, tensors[prefix + "post_attention_layernorm.weight"], shape.norm_eps)
        gate, up = (linear(tensors, f"{prefix}mlp.{name}_proj", normed, lora) for name in ("gate", "up"))
        hidden = hidden + linear(tensors, prefix + "mlp.down_proj", F.silu(gate) * up, lora)
    hidden = rms_norm(hidden, tensors["model.norm.weight"], shape.norm_eps)
    output = tensors["model.embed_tokens.weight" if shape.tied else "lm_head.weight"]
    logits = F.linear(hidden.index_select(0, torch.from_numpy(batch.predicting)), output)
    return torch.log_softmax(logits / 1.0, dim=-1).gather(1, torch.from_numpy(batch.targets)[:, None]).squeeze(1)


def rotary(shape: Architecture, batch: MicroBatch) -> tuple[Tensor, Tensor]:
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.int64).float() / shape.head_dim
    angles = torch.from_numpy(batch.positions).float()[:, None] * (1.0 / shape.rope.theta**exponents)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([cos, cos], dim=-1)[:, None], torch.cat([-sin, sin], dim=-1)[:, None]


def attention(
    shape: Architecture, tensors: Mapping[str, Tensor], prefix: str, hidden: Tensor, batch: MicroBatch, cos: Tensor,
    sin: Tensor, lora: Lora | None,
) -> Tensor:
    weight = torch.cat([tensors[f"{prefix}{name}_proj.weight"] for name in "qkv"])
    bias = torch.cat([tensors[f"{prefix}{name}_proj.bias"] for name in "qkv"]) if shape.qkv_bias else None
    flat = F.linear(hidden, weight, bias)
    added = [addition(tensors, f"{prefix}{name}_proj", hidden, lora) for name in "qkv"]
    if any(part is not None for part in added):
        flat = flat + torch.cat([hidden.new_zeros(len(hidden), width) if part is None else part for part, width in
                                 zip(added, (shape.queries, shape.keys, shape.keys), strict=True)], dim=1)
    heads, kv_heads = shape.heads, shape.kv_heads
    both, value = torch.split(flat.view(len(hidden), -1, shape.head_dim), [heads + kv_heads, kv_heads], dim=1)
    if shape.qk_norm:
        scales = [tensors[prefix + "q_norm.weight"].expand(heads, -1),
                  tensors[prefix + "k_norm.weight"].expand(kv_heads, -1)]
        both = rms_norm(both, torch.cat(scales), shape.norm_eps)
    query, key = torch.split(rotate(both, cos, sin), [heads, kv_heads], dim=1)
    return linear(tensors, prefix + "o_proj", mix(query, key, value, batch), lora)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([second, first], dim=-1) * sin


def mix(query: Tensor, key: Tensor, value: Tensor, batch: MicroBatch) -> Tensor:
    mask = torch.full((len(query), len(query)), -torch.inf)
    for start, length, first, before in batch.spans.tolist():
        own = slice(start, start + length)
        mask[own, batch.behind[first:first + before]] = 0
        mask[own, own] = torch.full((length, length), -torch.inf).triu(1)
    q, k, v = (states.transpose(0, 1)[None] for states in (query, key, value))
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=query.shape[1] != key.shape[1])
    return mixed[0].transpose(0, 1).flatten(1)


def linear(tensors: Mapping[str, Tensor], module: str, hidden: Tensor, lora: Lora | None) -> Tensor:
    plain, added = F.linear(hidden, tensors[module + ".weight"]), addition(tensors, module, hidden, lora)
    return plain if added is None else plain + added


def addition(tensors: Mapping[str, Tensor], module: str, hidden: Tensor, lora: Lora | None) -> Tensor | None:
    if lora is None or down_name(module) not in tensors:
        return None
    return F.linear(F.linear(hidden, tensors[down_name(module)]), tensors[up_name(module)]) * lora.scale
