"""Configs of the three families parse as stock transformers writes them; everything not built is refused by field."""

import json
from typing import Any

import pytest
from transformers import LlamaConfig, PretrainedConfig, Qwen2Config, Qwen3Config

from hone.models import toy
from hone.models.architecture import Unsupported, parse

TOY: dict[str, Any] = json.loads(toy.files()["config.json"])
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
    assert found.rope_theta == 5e5


def test_old_rope_field_and_derived_head_size() -> None:
    config = {key: value for key, value in TOY.items() if key not in {"rope_parameters", "head_dim"}}
    found = parse({**config, "rope_theta": 1e6, "rope_scaling": None})
    assert (found.rope_theta, found.head_dim) == (1e6, 32)


@pytest.mark.parametrize(("change", "field"), [
    ({"architectures": ["Qwen3MoeForCausalLM"]}, "architectures"),
    ({"architectures": None}, "architectures"),
    ({"use_sliding_window": True}, "use_sliding_window"),
    ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
    ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}}, r"rope_parameters\.rope_type"),
    ({"rope_scaling": {"type": "linear", "factor": 2.0}}, r"rope_scaling\.rope_type"),
    ({"hidden_act": "gelu"}, "hidden_act"),
    ({"attention_bias": True}, "attention_bias"),
    ({"quantization_config": {"bits": 4}}, "quantization_config"),
    ({"num_key_value_heads": 3}, "num_key_value_heads"),
    ({"hidden_size": "128"}, "hidden_size"),
    ({"vocab_size": None}, "vocab_size"),
])
def test_what_is_not_built_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(Unsupported, match=rf"^{field}: found .*, expected "):
        parse({**TOY, **change})
