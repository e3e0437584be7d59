"""Small models of each family, engines over them, and stock transformers to compare with."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from hone.models import toy
from hone.models.checkpoint import Checkpoint, weights_bytes
from hone.text.tokenizer import Tokenizer
from services.inference.native import safe_shapes
from services.inference.native.engine import FusedVersion, NativeEngine
from services.inference.native.weights import fuse
from services.inference.requests import Answer, Completion, NoiseKey, Request, Sampling
from tests.unit.models.scalings import SCALINGS

VOCABULARY = 41  # odd, so that padding of the logits matters
_FAMILIES: dict[str, tuple[Any, Any]] = {
    "qwen3": (Qwen3Config, Qwen3ForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
}
_SIZES: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 80, "vocab_size": VOCABULARY, "max_position_embeddings": 256, "bos_token_id": 1,
    "eos_token_id": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 5e3},
}
SLOTS, POSITIONS = 32, 128


def stock(family: str, seed: int = 0) -> PreTrainedModel:
    """Return a small random model of stock transformers, float32, with every bias and norm away from its default.

    `family` may name a scaling of the rotary positions too: "llama, yarn".
    """
    family, _, scaling = family.partition(", ")
    config, model_class = _FAMILIES[family]
    rope = {"rope_parameters": {**SCALINGS[scaling], "rope_theta": 5e3}} if scaling else {}
    torch.manual_seed(seed)
    model: PreTrainedModel = model_class(config(
        **_SIZES | ({} if family == "qwen2" else {"hidden_size": 48, "head_dim": 16}) | rope,
        tie_word_embeddings=family == "qwen3",
    ))
    with torch.no_grad():
        for parameter in model.parameters():
            matrix = parameter.dim() > 1
            parameter.copy_(torch.randn_like(parameter) * (0.2 if matrix else 0.3) + (0.0 if matrix else 1.0))
    return model


def checkpoint(model: PreTrainedModel) -> Checkpoint:
    """Return a stock model as a checkpoint, through its files."""
    config = json.loads(model.config.to_json_string(use_diff=False)) | {"architectures": [type(model).__name__]}
    tensors = {name: tensor for name, tensor in model.state_dict().items()
               if name != "lm_head.weight" or not config["tie_word_embeddings"]}
    files = {"config.json": json.dumps(config).encode(), "model.safetensors": weights_bytes(tensors)}
    return Checkpoint.from_files(files)


@cache
def tokenizer() -> Tokenizer:
    """Return the toy's character tokenizer, with a token for each id of the stock models."""
    symbols = [*toy.SYMBOLS, *"ABCDEFGHIJKLMN"]
    return Tokenizer(toy.files(vocab_size=VOCABULARY, symbols=symbols))


def version(id: str, model: PreTrainedModel, dtype: torch.dtype = torch.float32) -> FusedVersion:
    """Return a stock model as a version to be served."""
    return FusedVersion(id, fuse(checkpoint(model), dtype), tokenizer())


@cache
def measured(family: str, slots: int = SLOTS, dtype: torch.dtype = torch.float32) -> safe_shapes.SafeShapes:
    """Return the safe shapes of a family's small model."""
    return safe_shapes.measure(checkpoint(stock(family)).architecture, slots, POSITIONS, dtype)


def engine(
    family: str = "qwen3", slots: int = SLOTS, seed: int = 0, dtype: torch.dtype = torch.float32
) -> NativeEngine:
    """Return an engine serving version `v0` of a small random model."""
    model = stock(family, seed)
    shapes = measured(family.partition(", ")[0], slots, dtype)
    return NativeEngine(checkpoint(model).architecture, shapes, slots, version("v0", model, dtype))


def request(name: str, prompt: Iterable[int], n: int = 1, **sampling: Any) -> Request:
    """Return a request whose noise is named like itself."""
    return Request(name, tuple(prompt), n, Sampling(**{"max_tokens": 12, **sampling}), NoiseKey(7, name))


def run(served: NativeEngine, *requests: Request) -> dict[str, list[Completion]]:
    """Submit requests, step until nothing is left to do, and return the completions by request id."""
    for one in requests:
        served.submit(one)
    return drain(served)


def drain(served: NativeEngine) -> dict[str, list[Completion]]:
    """Step until nothing is left to do and return the completions of whole requests by their id."""
    answers: list[Answer] = []
    while served.has_work:
        answers += served.step()
    return {answer.request.request_id: answer.completions for answer in answers if answer.done}
