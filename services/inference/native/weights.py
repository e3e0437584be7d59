"""A checkpoint rearranged for decoding: fused, packed, norms folded in, rotary pairs side by side. float32.

What is folded changes roundings, not the function: input norms go into the matrices behind them, the attention
scale into the queries, and each head's dimensions are ordered so that a rotary pair is one complex number.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hone.models.architecture import Architecture
from hone.models.checkpoint import Checkpoint
from services.inference.native.matrix import Matrix

VOCABULARY_MULTIPLE = 16
"""Logit rows are padded to whole vectors, so that no element's rounding depends on where its row lies."""


@dataclass(frozen=True)
class Layer:
    """One block."""

    qkv: Matrix  # hidden → queries + 2 keys
    head_norm: Tensor | None  # [heads + kv_heads, head_dim]; None without query and key norms
    out: Matrix  # queries → hidden
    gate: Matrix  # hidden → ffn
    up: Matrix  # hidden → ffn
    down: Matrix  # ffn → hidden


@dataclass(frozen=True)
class Weights:
    """All of a version's weights, ready for a Decoder of the same architecture."""

    embedding: Tensor  # [vocab, hidden]
    layers: list[Layer]
    logits: Matrix  # hidden → vocab padded, final norm folded in; padding comes out as -inf


class NotFinite(ValueError):
    """Weights hold or produce NaN or infinity."""


def fuse(checkpoint: Checkpoint) -> Weights:
    """Return `checkpoint` for decoding. Raises NotFinite naming the first tensor that is not finite."""
    for name, tensor in checkpoint.tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise NotFinite(f"tensor {name} holds NaN or infinity")
    architecture = checkpoint.architecture
    tensors = {name: tensor.to(torch.float32) for name, tensor in checkpoint.tensors.items()}
    embedding = tensors["model.embed_tokens.weight"]
    output = embedding if architecture.tied else tensors["lm_head.weight"]
    padded = -(-architecture.vocab_size // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE
    logits = torch.zeros(padded, architecture.hidden)
    logits[:architecture.vocab_size] = output * tensors["model.norm.weight"]
    bias = torch.zeros(padded)
    bias[architecture.vocab_size:] = -torch.inf
    layers = [_layer(architecture, tensors, f"model.layers.{number}.") for number in range(architecture.layers)]
    return Weights(embedding.contiguous(), layers, Matrix(logits, bias))


def _layer(architecture: Architecture, tensors: dict[str, Tensor], prefix: str) -> Layer:
    def tensor(name: str) -> Tensor:
        return tensors[prefix + name]

    attention_norm, ffn_norm = tensor("input_layernorm.weight"), tensor("post_attention_layernorm.weight")
    return Layer(
        qkv=Matrix(_qkv(architecture, tensors, prefix, "weight") * attention_norm,
                   _qkv(architecture, tensors, prefix, "bias") if architecture.qkv_bias else None),
        head_norm=_head_norm(architecture, tensors, prefix) if architecture.qk_norm else None,
        out=Matrix(tensor("self_attn.o_proj.weight")),
        gate=Matrix(tensor("mlp.gate_proj.weight") * ffn_norm), up=Matrix(tensor("mlp.up_proj.weight") * ffn_norm),
        down=Matrix(tensor("mlp.down_proj.weight")),
    )


def _qkv(architecture: Architecture, tensors: dict[str, Tensor], prefix: str, kind: str) -> Tensor:
    query, key, value = (tensors[f"{prefix}self_attn.{name}_proj.{kind}"] for name in "qkv")
    if not architecture.qk_norm:
        query = query * architecture.head_dim ** -0.5
    return torch.cat([_paired(query, architecture.head_dim), _paired(key, architecture.head_dim), value])


def _head_norm(architecture: Architecture, tensors: dict[str, Tensor], prefix: str) -> Tensor:
    query = tensors[f"{prefix}self_attn.q_norm.weight"] * architecture.head_dim ** -0.5
    key = tensors[f"{prefix}self_attn.k_norm.weight"]
    rows = [_paired(query, architecture.head_dim)] * architecture.heads
    return torch.stack(rows + [_paired(key, architecture.head_dim)] * architecture.kv_heads)


def _paired(tensor: Tensor, head_dim: int) -> Tensor:
    """Put dimension i + head_dim/2 of each head next to dimension i; rows run over heads and their dimensions."""
    heads = tensor.reshape(-1, 2, head_dim // 2, *tensor.shape[1:])
    return heads.transpose(1, 2).reshape(tensor.shape)
