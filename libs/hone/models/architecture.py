"""The architecture of a model, parsed from a Hugging Face config.json. Unsupported fields are refused by name.

Torch-free: a service can refuse a model before it reads any weight.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hone.models import rope as ropes
from hone.models.config_fields import Unsupported, count, number
from hone.models.rope import Rope

FAMILIES: dict[str, dict[str, bool]] = {
    "Qwen3ForCausalLM": {"qk_norm": True, "qkv_bias": False},
    "Qwen2ForCausalLM": {"qk_norm": False, "qkv_bias": True},
    "LlamaForCausalLM": {"qk_norm": False, "qkv_bias": False},
}
"""Supported values of `architectures`, with the differences between the families."""

HEAD = "score.weight"
"""The tensor of a scalar head in a Hugging Face checkpoint."""
OWN_HEAD = "value_head.weight"
"""The same of a critic that Hone trained."""
RATERS: dict[str, str] = {
    family.removesuffix("ForCausalLM") + "ForSequenceClassification": family for family in FAMILIES}
"""Supported reward models: decoders with a scalar head. Each with the family whose decoder it has."""

_MODEL_TYPES = {family: family.removesuffix("ForCausalLM").lower() for family in FAMILIES}
_DEFAULTS: dict[str, dict[str, int]] = {
    "Qwen3ForCausalLM": {"head_dim": 128, "num_key_value_heads": 32, "max_position_embeddings": 32768},
    "Qwen2ForCausalLM": {"num_key_value_heads": 32, "max_position_embeddings": 32768},
    "LlamaForCausalLM": {"max_position_embeddings": 2048},
}
"""Values of fields that a config lacks, as transformers fills them in."""

_FIXED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu",), "attention_bias": (False,), "mlp_bias": (False,), "use_sliding_window": (False,),
    "partial_rotary_factor": (1, 1.0), "pretraining_tp": (1,), "quantization_config": (None,),
}
"""Fields that must be absent or have one of these values."""

_NORM_EPS = (1e-12, 0.1)


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
    rope: Rope
    norm_eps: float
    tied: bool  # the output projection is the embedding
    qk_norm: bool
    qkv_bias: bool
    max_positions: int
    rates: bool = False  # a scalar head instead of the output projection: one number for a text, and no next token

    @property
    def name(self) -> str:
        """Its name in a config.json."""
        return self.family.replace("ForCausalLM", "ForSequenceClassification") if self.rates else self.family

    @property
    def outputs(self) -> int:
        """Numbers that the last state of a text becomes: one for each id, or the rating."""
        return 1 if self.rates else self.vocab_size

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
        if self.rates:
            shapes[HEAD] = (1, self.hidden)
        elif not self.tied:
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

    That of a reward model has `rates`.

    Raises Unsupported with the field's name if the model is of another family, needs a feature that Hone lacks
    (sliding windows, other scalings of rotary positions, experts, quantized weights), or has a value that no model has.
    """
    family, rates = _family(config)
    for path, value in _not_finite(config):
        raise Unsupported(path, value, "a finite number")
    for field, allowed in _FIXED.items():
        if config.get(field, allowed[0]) not in allowed:
            raise Unsupported(field, config[field], f"{allowed[0]!r} or no such field")
    _refuse_windows(config)
    hidden, heads = _count(config, family, "hidden_size"), _count(config, family, "num_attention_heads")
    kv_heads = _count(config, family, "num_key_value_heads", heads)
    if heads % kv_heads:
        raise Unsupported("num_key_value_heads", kv_heads, f"a divisor of num_attention_heads ({heads})")
    return Architecture(
        family=family, vocab_size=_count(config, family, "vocab_size"), hidden=hidden,
        layers=_count(config, family, "num_hidden_layers"), heads=heads, kv_heads=kv_heads,
        head_dim=_head_dim(config, family, hidden, heads), ffn=_count(config, family, "intermediate_size"),
        rope=ropes.parse(config), norm_eps=number("rms_norm_eps", config.get("rms_norm_eps", 1e-6), *_NORM_EPS),
        tied=_tied(config), rates=rates, max_positions=_count(config, family, "max_position_embeddings"),
        **FAMILIES[family],
    )


def _family(config: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the family of the decoder, and whether it has a scalar head."""
    families = config.get("architectures") or []
    if len(families) != 1 or families[0] not in {*FAMILIES, *RATERS}:
        raise Unsupported("architectures", families, f"one of {', '.join((*FAMILIES, *RATERS))}")
    rates, family = families[0] in RATERS, RATERS.get(families[0], str(families[0]))
    labels = config.get("id2label")
    count = len(labels) if isinstance(labels, Mapping) else config.get("num_labels", 2)
    if rates and count != 1:
        raise Unsupported("num_labels", count, "1: a reward model gives one number")
    if config.get("model_type") != _MODEL_TYPES[family]:
        raise Unsupported("model_type", config.get("model_type"),
                          f"{_MODEL_TYPES[family]!r}, the type of architectures ({families[0]})")
    return family, rates


def _not_finite(config: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield every number in a config that is not finite, with its path. Values may be nested to any depth."""
    left: list[tuple[str, Any]] = list(config.items())
    while left:
        path, value = left.pop()
        if isinstance(value, float) and not math.isfinite(value):
            yield path, value
        elif isinstance(value, Mapping):
            left += [(f"{path}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list):
            left += [(f"{path}[{place}]", inner) for place, inner in enumerate(value)]


def _refuse_windows(config: Mapping[str, Any]) -> None:
    other = sorted(set(config.get("layer_types") or []) - {"full_attention"})
    if other:
        raise Unsupported("layer_types", other[0], "full_attention in every layer")


def _head_dim(config: Mapping[str, Any], family: str, hidden: int, heads: int) -> int:
    size = _count(config, family, "head_dim", hidden // heads)
    if size % 2:
        raise Unsupported("head_dim", size, "an even number: rotary positions turn pairs")
    return size


def _tied(config: Mapping[str, Any]) -> bool:
    tied = config.get("tie_word_embeddings", False)
    if not isinstance(tied, bool):
        raise Unsupported("tie_word_embeddings", tied, "true or false")
    return tied


def _count(config: Mapping[str, Any], family: str, field: str, derived: int | None = None) -> int:
    """Return a count; if the config lacks it, the family's default, or else the value derived from other fields."""
    value = config.get(field)
    if field in config and value is None:  # transformers derives what is null
        value = derived
    elif field not in config:
        value = _DEFAULTS[family].get(field, derived)
    return count(field, value)
