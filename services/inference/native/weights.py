"""A checkpoint's weights for decoding: fused, packed and with norms folded in; blocks in float32 or bfloat16.

Input norms are folded into the matrices after them, and the attention scale into the queries. This changes roundings,
not the function. The product for logits stays float32: rounded logits would cause most of bfloat16's error.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hone.models.architecture import HEAD, Architecture
from hone.models.checkpoint import Checkpoint
from services.inference.native import kernels
from services.inference.native.kernels import Floats
from services.inference.native.matrix import Matrix
from services.inference.takeover import check_finite

VOCABULARY_MULTIPLE = 16
"""Rows of logits are padded to whole vectors, so that the rounding of an element does not depend on its row."""

_FIRST = 1 << 20
"""Largest table of the first layer's products for all tokens: enough for vocabularies of bytes and characters."""


@dataclass(frozen=True)
class Layer:
    """The weights of one transformer block."""

    qkv: Matrix  # hidden → queries + 2 keys
    head_norm: Floats  # [heads + kv_heads, head_dim]; no rows without query and key norms
    out: Matrix  # queries → hidden
    gate: Matrix  # hidden → ffn
    up: Matrix  # hidden → ffn
    down: Matrix  # ffn → hidden


@dataclass(frozen=True)
class Weights:
    """All weights of a version, for a Decoder of the same architecture."""

    embedding: Tensor  # [vocab, hidden]
    layers: list[Layer]
    first: Tensor | None  # [vocab, queries + 2 keys], the first layer's qkv of each token; None if it is too large
    logits: Matrix  # hidden → padded outputs, with the final norm; float32; the padding's logits are -inf

    @property
    def dtype(self) -> torch.dtype:
        """The arithmetic of the blocks' products."""
        return self.layers[0].qkv.dtype


def fuse(checkpoint: Checkpoint, dtype: torch.dtype = torch.float32) -> Weights:
    """Return the weights of `checkpoint` for decoding in `dtype`. Raises NotFinite, which names the tensor."""
    check_finite(checkpoint.tensors)
    architecture = checkpoint.architecture
    tensors = {name: tensor.to(torch.float32) for name, tensor in checkpoint.tensors.items()}
    embedding = tensors["model.embed_tokens.weight"].contiguous()
    output = tensors[HEAD] if architecture.rates else embedding if architecture.tied else tensors["lm_head.weight"]
    padded = -(-architecture.outputs // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE
    logits = torch.zeros(padded, architecture.hidden)
    logits[:architecture.outputs] = output * tensors["model.norm.weight"]
    bias = torch.zeros(padded)
    bias[architecture.outputs:] = -torch.inf
    layers = [_layer(architecture, tensors, f"model.layers.{number}.", dtype)
              for number in range(architecture.layers)]
    first = _first(architecture, layers[0].qkv, embedding)
    return Weights(embedding, layers, first, Matrix(logits, bias))


def _first(architecture: Architecture, qkv: Matrix, embedding: Tensor) -> Tensor | None:
    """Return the first layer's queries, keys and values of every token, since they depend only on its id."""
    if architecture.vocab_size * (architecture.queries + 2 * architecture.keys) > _FIRST:
        return None
    normed = torch.empty_like(embedding)
    kernels.normalize(embedding.numpy(), np.float32(architecture.norm_eps), normed.numpy())
    return qkv.times(normed)


def _layer(architecture: Architecture, tensors: dict[str, Tensor], prefix: str, dtype: torch.dtype) -> Layer:
    def tensor(name: str) -> Tensor:
        return tensors[prefix + name]

    def matrix(weight: Tensor, bias: Tensor | None = None) -> Matrix:
        return Matrix(weight, bias, dtype)

    attention_norm, ffn_norm = tensor("input_layernorm.weight"), tensor("post_attention_layernorm.weight")
    return Layer(
        qkv=matrix(_qkv(architecture, tensors, prefix, "weight") * attention_norm,
                   _qkv(architecture, tensors, prefix, "bias") if architecture.qkv_bias else None),
        head_norm=_head_norm(architecture, tensors, prefix),
        out=matrix(tensor("self_attn.o_proj.weight")),
        gate=matrix(tensor("mlp.gate_proj.weight") * ffn_norm), up=matrix(tensor("mlp.up_proj.weight") * ffn_norm),
        down=matrix(tensor("mlp.down_proj.weight")),
    )


def _qkv(architecture: Architecture, tensors: dict[str, Tensor], prefix: str, kind: str) -> Tensor:
    query, key, value = (tensors[f"{prefix}self_attn.{name}_proj.{kind}"] for name in "qkv")
    if not architecture.qk_norm:
        query = query * architecture.head_dim ** -0.5
    return torch.cat([query, key, value])


def _head_norm(architecture: Architecture, tensors: dict[str, Tensor], prefix: str) -> Floats:
    if not architecture.qk_norm:
        return np.empty((0, architecture.head_dim), np.float32)
    query = tensors[f"{prefix}self_attn.q_norm.weight"] * architecture.head_dim ** -0.5
    key = tensors[f"{prefix}self_attn.k_norm.weight"]
    rows: Floats = torch.stack([query] * architecture.heads + [key] * architecture.kv_heads).numpy()
    return rows
