"""What stock engines will apply to an exported model, in a sentence."""

import json
from typing import Any

import pytest

from hone.models.stock_sampling import defaults, note

TRAINED = {"max_tokens": 256, "temperature": 1.0, "top_p": 1.0, "top_k": 0, "stop": []}


def files(**values: Any) -> dict[str, bytes]:
    return {"generation_config.json": json.dumps({"eos_token_id": 2, "bos_token_id": 1, **values}).encode()}


@pytest.mark.parametrize(("values", "found"), [
    ({}, {}),
    ({"temperature": 1.0, "top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0, "do_sample": False, "min_p": None}, {}),
    ({"top_k": -1}, {}),
    ({"temperature": 0.6, "top_p": 0.95, "repetition_penalty": 1.05, "do_sample": True},
     {"temperature": 0.6, "top_p": 0.95, "repetition_penalty": 1.05, "do_sample": True}),
    ({"temperature": 0, "max_new_tokens": 2048, "suppress_tokens": [5]},
     {"temperature": 0, "max_new_tokens": 2048, "suppress_tokens": [5]}),
    ({"temperature": float("nan")}, {"temperature": "NaN"}),
])
def test_only_what_changes_something_is_a_default(values: dict[str, Any], found: dict[str, Any]) -> None:
    assert defaults(files(**values)) == found
    json.dumps(defaults(files(**values)), allow_nan=False)


def test_a_model_without_the_file_has_no_defaults_and_no_note() -> None:
    assert defaults({}) == {}
    assert note({}, TRAINED) == ""


def test_a_file_that_is_no_object_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"generation_config\.json: found list, expected an object"):
        defaults({"generation_config.json": b"[]"})


@pytest.mark.parametrize(("values", "trained", "said"), [
    ({"temperature": 0.6, "top_p": 0.95, "repetition_penalty": 1.05, "do_sample": True}, TRAINED,
     "By generation_config.json, stock engines (vLLM, transformers) will sample with temperature 0.6, top_p 0.95, "
     "repetition_penalty 1.05. The run trained with temperature 1."),
    ({"temperature": 0.6, "repetition_penalty": 1.05}, {**TRAINED, "temperature": 0.7, "top_k": 20},
     "By generation_config.json, vLLM will sample with temperature 0.6, repetition_penalty 1.05; transformers will "
     "take the likeliest token, as do_sample is not set, with repetition_penalty 1.05. "
     "The run trained with temperature 0.7, top_k 20."),
    ({"do_sample": True, "num_beams": 4}, TRAINED,
     "By generation_config.json, vLLM will sample with its own defaults; transformers will sample with num_beams 4. "
     "The run trained with temperature 1."),
])
def test_the_note_says_what_each_engine_does(values: dict[str, Any], trained: dict[str, Any], said: str) -> None:
    assert note(defaults(files(**values)), trained) == said
