"""The architecture of a model, parsed from a Hugging Face config.json. Unsupported fields are refused by name.

Torch-free: a service can refuse a model before it reads any weight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Unsupported(ValueError):
    """A model that Hone cannot run: the config's field, its value, and the expected values."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {found!r}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


FAMILIES: dict[str, dict[str, bool]] = {
    "Qwen3ForCausalLM": {"qk_norm": True, "qkv_bias": False},
    "Qwen2ForCausalLM": {"qk_norm": False, "qkv_bias": True},
    "LlamaForCausalLM": {"qk_norm": False, "qkv_bias": False},
}
"""Supported values of `architectures`, with the differences between the families."""

_FIXED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu",), "attention_bias": (False,), "mlp_bias": (False,), "use_sliding_window": (False,),
    "partial_rotary_factor": (1, 1.0), "pretraining_tp": (1,), "quantization_config": (None,),
}
"""Fields that must be absent or have one of these values."""


@dataclass(frozen=True)
class Architecture:
    """A decoder-only transformer: RMS norms, rotary positions, grouped-query attention, gated SiLU."""

    family: str
    vocab_size: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    rope_theta: float
    norm_eps: float
    tied: bool  # the output projection is the embedding
    qk_norm: bool
    qkv_bias: bool
    max_positions: int

    @property
    def queries(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Width of all key heads together; values are as wide."""
        return self.kv_heads * self.head_dim

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor by its name in a Hugging Face checkpoint."""
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.vocab_size, self.hidden)}
        for layer in range(self.layers):
            for name, shape in self._layer_shapes().items():
                shapes[f"model.layers.{layer}.{name}"] = shape
        shapes["model.norm.weight"] = (self.hidden,)
        if not self.tied:
            shapes["lm_head.weight"] = (self.vocab_size, self.hidden)
        return shapes

    def _layer_shapes(self) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {
            "input_layernorm.weight": (self.hidden,),
            "self_attn.q_proj.weight": (self.queries, self.hidden),
            "self_attn.k_proj.weight": (self.keys, self.hidden),
            "self_attn.v_proj.weight": (self.keys, self.hidden),
            "self_attn.o_proj.weight": (self.hidden, self.queries),
            "post_attention_layernorm.weight": (self.hidden,),
            "mlp.gate_proj.weight": (self.ffn, self.hidden),
            "mlp.up_proj.weight": (self.ffn, self.hidden),
            "mlp.down_proj.weight": (self.hidden, self.ffn),
        }
        if self.qkv_bias:
            shapes |= {"self_attn.q_proj.bias": (self.queries,), "self_attn.k_proj.bias": (self.keys,),
                       "self_attn.v_proj.bias": (self.keys,)}
        if self.qk_norm:
            shapes |= {"self_attn.q_norm.weight": (self.head_dim,), "self_attn.k_norm.weight": (self.head_dim,)}
        return shapes


def parse(config: Mapping[str, Any]) -> Architecture:
    """Return the architecture that `config`, the object in config.json, describes.

    Raises Unsupported with the field's name if the model is of another family or needs a feature that Hone lacks:
    sliding windows, scaled rotary positions, experts, quantized weights.
    """
    family = _family(config)
    for field, allowed in _FIXED.items():
        if config.get(field, allowed[0]) not in allowed:
            raise Unsupported(field, config[field], f"{allowed[0]!r} or no such field")
    _refuse_windows(config)
    hidden, heads = _count(config, "hidden_size"), _count(config, "num_attention_heads")
    kv_heads = _count(config, "num_key_value_heads", heads)
    if heads % kv_heads:
        raise Unsupported("num_key_value_heads", kv_heads, f"a divisor of num_attention_heads ({heads})")
    return Architecture(
        family=family, vocab_size=_count(config, "vocab_size"), hidden=hidden,
        layers=_count(config, "num_hidden_layers"),
        heads=heads, kv_heads=kv_heads, head_dim=_count(config, "head_dim", hidden // heads),
        ffn=_count(config, "intermediate_size"), rope_theta=_rope_theta(config),
        norm_eps=float(config.get("rms_norm_eps", 1e-6)), tied=bool(config.get("tie_word_embeddings", False)),
        max_positions=_count(config, "max_position_embeddings", 32768), **FAMILIES[family],
    )


def _family(config: Mapping[str, Any]) -> str:
    families = config.get("architectures") or []
    if len(families) != 1 or families[0] not in FAMILIES:
        raise Unsupported("architectures", families, f"one of {', '.join(FAMILIES)}")
    return str(families[0])


def _refuse_windows(config: Mapping[str, Any]) -> None:
    other = sorted(set(config.get("layer_types") or []) - {"full_attention"})
    if other:
        raise Unsupported("layer_types", other[0], "full_attention in every layer")


def _rope_theta(config: Mapping[str, Any]) -> float:
    for field in ("rope_parameters", "rope_scaling"):
        rope = config.get(field) or {}
        kind = rope.get("rope_type", rope.get("type", "default"))
        if kind != "default":
            raise Unsupported(f"{field}.rope_type", kind, "'default'")
        if rope.get("partial_rotary_factor", 1.0) != 1.0:
            raise Unsupported(f"{field}.partial_rotary_factor", rope["partial_rotary_factor"], "1.0")
    return float((config.get("rope_parameters") or {}).get("rope_theta", config.get("rope_theta", 10_000.0)))


def _count(config: Mapping[str, Any], field: str, default: int | None = None) -> int:
    value = config.get(field)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Unsupported(field, value, "a whole number of at least 1")
    return value
