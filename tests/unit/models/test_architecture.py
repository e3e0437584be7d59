"""Configs of the three families parse as stock transformers writes them; everything not built is refused by field."""

import json
from typing import Any

import pytest
from transformers import LlamaConfig, PretrainedConfig, Qwen2Config, Qwen3Config

from hone.models.architecture import parse
from hone.models.config_fields import Unsupported
from hone.models.rope import Rope
from tests.support.models.architectures import TOY

SIZES: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                         "intermediate_size": 96, "vocab_size": 48}


ROPE: dict[str, Any] = {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}


@pytest.mark.parametrize(("kind", "family", "qk_norm", "qkv_bias"), [
    (Qwen3Config, "Qwen3ForCausalLM", True, False), (Qwen2Config, "Qwen2ForCausalLM", False, True),
    (LlamaConfig, "LlamaForCausalLM", False, False),
])
def test_families(kind: type[PretrainedConfig], family: str, qk_norm: bool, qkv_bias: bool) -> None:
    config = kind(**SIZES, **ROPE, architectures=[family])
    found = parse(json.loads(config.to_json_string(use_diff=False)))
    assert (found.qk_norm, found.qkv_bias) == (qk_norm, qkv_bias)
    assert (found.hidden, found.heads, found.kv_heads, found.ffn, found.vocab_size) == (64, 4, 2, 96, 48)
    assert found.rope == Rope(theta=5e5)


@pytest.mark.parametrize("kind", [Qwen3Config, Qwen2Config, LlamaConfig])
def test_fields_that_a_config_lacks_are_those_of_transformers(kind: type[PretrainedConfig]) -> None:
    sizes = {**SIZES, "num_attention_heads": 32, "hidden_size": 4096}
    del sizes["num_key_value_heads"]
    family = kind.__name__.replace("Config", "ForCausalLM")
    stock: Any = kind(**sizes)
    found = parse({**sizes, "architectures": [family], "model_type": stock.model_type})
    assert (found.kv_heads, found.max_positions) == (stock.num_key_value_heads, stock.max_position_embeddings)
    assert found.head_dim == getattr(stock, "head_dim", 128)
    assert (found.norm_eps, found.tied) == (stock.rms_norm_eps, stock.tie_word_embeddings)
    assert found.rope.theta == stock.rope_parameters["rope_theta"]


def test_old_rope_field_and_derived_head_size() -> None:
    llama = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "head_dim": None}
    config = {key: value for key, value in TOY.items() if key != "rope_parameters"}
    found = parse({**config, **llama, "rope_theta": 1e6, "rope_scaling": None})
    assert (found.rope.theta, found.head_dim) == (1e6, 32)


NAN = float("nan")


def test_values_may_be_nested_to_any_depth() -> None:
    nested: Any = NAN
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(Unsupported, match=r"^more(\[0\]){5000}: found nan"):
        parse({**TOY, "more": nested})


@pytest.mark.parametrize(("change", "field"), [
    ({"architectures": ["Qwen3MoeForCausalLM"]}, "architectures"),
    ({"architectures": None}, "architectures"),
    ({"model_type": "llama"}, "model_type"),
    ({"model_type": None}, "model_type"),
    ({"use_sliding_window": True}, "use_sliding_window"),
    ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
    ({"hidden_act": "gelu"}, "hidden_act"),
    ({"attention_bias": True}, "attention_bias"),
    ({"quantization_config": {"bits": 4}}, "quantization_config"),
    ({"num_key_value_heads": 3}, "num_key_value_heads"),
    ({"hidden_size": "128"}, "hidden_size"),
    ({"hidden_size": 128.0}, "hidden_size"),
    ({"num_hidden_layers": 2**40}, "num_hidden_layers"),
    ({"max_position_embeddings": 0}, "max_position_embeddings"),
    ({"max_position_embeddings": 2**31}, "max_position_embeddings"),
    ({"vocab_size": None}, "vocab_size"),
    ({"head_dim": 15}, "head_dim"),
    ({"tie_word_embeddings": "false"}, "tie_word_embeddings"),
    *(({"rms_norm_eps": eps}, "rms_norm_eps") for eps in (0, -1e-6, NAN, float("inf"), 1.0, 1e-30, "1e-6", True, None)),
    *(({"rope_parameters": None, "rope_theta": theta}, "rope_theta") for theta in (NAN, 0, -1e4, 1.0, "1e4", 1e300)),
    ({"rope_parameters": {"rope_theta": NAN}}, r"rope_parameters\.rope_theta"),
    ({"initializer_range": float("inf")}, "initializer_range"),
    ({"task_specific_params": {"a": [1.0, NAN]}}, r"task_specific_params\.a\[1\]"),
])
def test_what_is_not_built_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(Unsupported, match=rf"^{field}: found .*, expected "):
        parse({**TOY, **change})
