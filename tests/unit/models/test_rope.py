"""Scaled rotary positions: what a config says, and the same cosines and sines as stock transformers, to the bit."""

import json
from typing import Any

import pytest
import torch
import transformers

from hone.models import rotary
from hone.models.architecture import parse
from hone.models.config_fields import Unsupported
from hone.models.rope import Rope
from tests.support.models.architectures import TOY
from tests.unit.models.scalings import LLAMA3, SCALINGS, YARN

POSITIONS = 256


@pytest.mark.parametrize("fields", SCALINGS.values(), ids=SCALINGS)
@pytest.mark.parametrize("family", ["Llama", "Qwen3"])
@pytest.mark.parametrize("size", [16, 64])
def test_turns_are_those_of_transformers(fields: dict[str, Any], family: str, size: int) -> None:
    config = getattr(transformers, f"{family}Config")(
        hidden_size=32, num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=1, intermediate_size=8,
        vocab_size=8, head_dim=size, max_position_embeddings=POSITIONS, rope_parameters={**fields, "rope_theta": 5e5})
    stock: Any = getattr(transformers, f"{family}ForCausalLM")(config)
    positions = torch.arange(POSITIONS)
    expected = stock.model.rotary_emb(torch.zeros(1), positions[None])
    shape = parse({**json.loads(config.to_json_string(use_diff=False)), "architectures": [f"{family}ForCausalLM"]})
    found = rotary.turns(positions, rotary.frequencies(shape), shape.rope)
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs[0, :, :size // 2])


def spelled(**changes: Any) -> Rope:
    return parse({**{key: value for key, value in TOY.items() if key != "rope_parameters"}, **changes}).rope


def test_both_forms_and_the_old_name_of_the_kind_mean_the_same() -> None:
    old = {**{key: value for key, value in LLAMA3.items() if key != "rope_type"}, "type": "llama3"}
    expected = spelled(rope_parameters={**LLAMA3, "rope_theta": 5e5})
    assert expected == Rope("llama3", 5e5, 8.0, 1.0, 4.0, 32)
    assert spelled(rope_theta=5e5, rope_scaling=LLAMA3) == expected
    assert spelled(rope_theta=5e5, rope_scaling=old) == expected
    assert spelled(rope_theta=500_000, rope_scaling={**LLAMA3, "factor": 8}, rope_parameters=None) == expected


@pytest.mark.parametrize("fields", SCALINGS.values(), ids=SCALINGS)
def test_the_written_out_form_means_the_same(fields: dict[str, Any]) -> None:
    rope = spelled(rope_parameters={**fields, "rope_theta": 5e5})
    again = spelled(rope_parameters=rope.to_config())
    assert again == (Rope(theta=5e5) if rope.kind == "dynamic" else rope)


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"rope_type": "longrope", "factor": 2.0}, "rope_type"),
    ({"type": "su"}, "type"),
    ({"rope_type": ["yarn"]}, "rope_type"),
    ({"rope_type": "yarn", "type": "linear", "factor": 2.0}, "type"),
    ({"factor": 4.0}, "factor"),
    ({"rope_type": "linear"}, "factor"),
    *(({"rope_type": "linear", "factor": factor}, "factor") for factor in ("2", 0, 0.5, -2.0, True, 1e300)),
    ({"rope_type": "linear", "factor": 2.0, "low_freq_factor": 1.0}, "low_freq_factor"),
    ({"rope_type": "dynamic", "factor": 2.0, "alpha": 1000}, "alpha"),
    ({"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 64},
     "original_max_position_embeddings"),
    *((without(LLAMA3, name), name) for name in LLAMA3 if name != "rope_type"),
    ({**LLAMA3, "high_freq_factor": 1.0}, "high_freq_factor"),
    ({**LLAMA3, "low_freq_factor": 0}, "low_freq_factor"),
    ({**LLAMA3, "original_max_position_embeddings": 32.0}, "original_max_position_embeddings"),
    *((without(YARN, name), name) for name in YARN if name != "rope_type"),
    ({**YARN, "beta_fast": 0.5}, "beta_fast"),
    ({**YARN, "attention_factor": 0}, "attention_factor"),
    ({**YARN, "mscale": -1.0}, "mscale"),
    ({**YARN, "truncate": "no"}, "truncate"),
    ({"rope_type": "default", "partial_rotary_factor": 0.5}, "partial_rotary_factor"),
    ({"full_attention": {"rope_type": "default"}}, "full_attention"),
]


@pytest.mark.parametrize(("fields", "field"), BAD)
@pytest.mark.parametrize("form", ["rope_scaling", "rope_parameters"])
def test_other_values_are_refused_by_field(fields: dict[str, Any], field: str, form: str) -> None:
    with pytest.raises(Unsupported, match=rf"^{form}\.{field}: found .*, expected "):
        spelled(**{form: fields})


@pytest.mark.parametrize(("changes", "field"), [
    ({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6}}, "rope_theta"),
    ({"rope_scaling": LLAMA3, "rope_parameters": YARN}, "rope_scaling"),
    ({"rope_scaling": LLAMA3, "original_max_position_embeddings": 64}, "original_max_position_embeddings"),
    ({"rope_scaling": [1]}, "rope_scaling"),
    ({"rope_scaling": "long"}, "rope_scaling"),
])
def test_contradictions_are_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Unsupported, match=rf"^{field}: found .*, expected "):
        spelled(**changes)
