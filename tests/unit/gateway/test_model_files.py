"""A directory is a model, or its first problem is named. Every claim of a weight file's header is checked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from tokenizers import Tokenizer
from tokenizers.models import BPE

from hone.models import toy
from hone.models.checkpoint_header import BadCheckpoint
from hone.spec.problems import Invalid
from services.gateway.admission.model_files import TensorHeader, inspect, read_header


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return toy.write(tmp_path, hidden=16, layers=1, heads=2, head_dim=8, ffn=32)


def test_a_model_is_described(model: Path) -> None:
    (model / "notes.txt").write_text("mine")
    (model / "folder").mkdir()
    found = inspect(model)
    assert found.facts.architecture == "Qwen3ForCausalLM"
    assert (found.facts.dtype, found.facts.vocab_size, found.facts.max_positions) == ("float32", 32, 4096)
    assert found.names == ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                           "tokenizer_config.json"]
    assert found.ignored == ["notes.txt"]


def configured(**changes: Any) -> Callable[[Path], None]:
    """Return a change of config.json; None removes a key."""
    def change(model: Path) -> None:
        config = {**json.loads((model / "config.json").read_text()), **changes}
        kept = {key: value for key, value in config.items() if value is not None}
        (model / "config.json").write_text(json.dumps(kept))

    return change


def without(*names: str) -> Callable[[Path], None]:
    def change(model: Path) -> None:
        for name in names:
            (model / name).unlink()

    return change


def weights(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """Return a change of the weights."""
    def rewrite(model: Path) -> None:
        tensors = safetensors.numpy.load_file(model / "model.safetensors")
        change(tensors)
        safetensors.numpy.save_file(tensors, model / "model.safetensors")

    return rewrite


def text(name: str, content: str) -> Callable[[Path], int]:
    return lambda model: (model / name).write_text(content)


def big_tokenizer(model: Path) -> None:
    Tokenizer(BPE(vocab={f"t{number}": number for number in range(33)}, merges=[])).save(str(model / "tokenizer.json"))


def endless(model: Path) -> None:
    configured(eos_token_id=None)(model)
    (model / "generation_config.json").unlink()


NORM = "model.norm.weight"
BAD: list[tuple[Callable[[Path], Any], str, str]] = [
    (without("config.json"), "config.json", "no such file"),
    (text("config.json", "{"), "config.json", "text that is not JSON"),
    (text("config.json", "[]"), "config.json", "a JSON list"),
    (configured(architectures=["GPT2LMHeadModel"]), "config.json: architectures", '["GPT2LMHeadModel"]'),
    (configured(hidden_size="16"), "config.json: hidden_size", '"16"'),
    (configured(quantization_config={"bits": 4}), "config.json: quantization_config", '{"bits": 4}'),
    (configured(architectures=[[]]), "config.json", "a value of another type"),
    (configured(rms_norm_eps="small"), "config.json", "a value of another type"),
    (configured(rope_scaling="long"), "config.json", "a value of another type"),
    (configured(num_hidden_layers=2), "model.layers.1.input_layernorm.weight", "no such tensor"),
    (configured(tie_word_embeddings=False), "lm_head.weight", "no such tensor"),
    (without("model.safetensors"), "model.safetensors", "no such file among"),
    (lambda model: (model / "model.safetensors").rename(model / "model.pt"), "model.safetensors", "model.pt"),
    (text("model.safetensors", "pickle"), "model.safetensors", "6 bytes that do not begin with a header"),
    (weights(lambda tensors: tensors.pop(NORM)), NORM, "no such tensor"),
    (weights(lambda tensors: tensors.update({NORM: np.ones(15, np.float32)})), NORM, "shape [15]"),
    (weights(lambda tensors: tensors.update({NORM: np.ones(16, np.float64)})), NORM, "dtype F64"),
    (weights(lambda tensors: tensors.update(more=np.ones(1, np.float32))), "more", "a tensor of this name"),
    (without("tokenizer.json"), "tokenizer.json", "no such file"),
    (text("tokenizer.json", "{}"), "tokenizer.json", ""),
    (big_tokenizer, "tokenizer.json", "33 tokens"),
    (endless, "config.json: eos_token_id", "nothing"),
    (text("generation_config.json", '{"eos_token_id": 99}'), "config.json: eos_token_id", "99"),
]


@pytest.mark.parametrize(("change", "field", "found"), BAD, ids=range(len(BAD)))
def test_the_first_mistake_is_named(
    model: Path, change: Callable[[Path], Any], field: str, found: str,
) -> None:
    change(model)
    with pytest.raises(Invalid) as refused:
        inspect(model)
    (problem,) = refused.value.problems
    assert problem.field == field
    assert problem.found.startswith(found)
    assert problem.expected


def test_headers_of_the_library_are_read_header(tmp_path: Path) -> None:
    tensors: dict[str, Any] = {"a": np.zeros((2, 3), np.float32), "b": np.zeros((), np.float16),
                               "c": np.zeros((0, 4), np.int64)}
    safetensors.numpy.save_file(tensors, tmp_path / "x", metadata={"format": "pt"})
    assert read_header(tmp_path / "x") == {
        "a": TensorHeader("F32", (2, 3)), "b": TensorHeader("F16", ()), "c": TensorHeader("I64", (0, 4))}


def safetensors_file(path: Path, header: Any, data: int = 8) -> Path:
    """Write a safetensors file with this header and `data` bytes of data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(data))
    return path


def entry(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


BAD_HEADERS = [
    (b"{", 8, "not JSON"), (b"[" * 100_000, 8, "not JSON"), ([], 8, "not an object"),
    ({"a": 1}, 8, "an incomplete entry"),
    ({"a": {"dtype": "F32"}}, 8, "an incomplete entry"), (entry(dtype="F33"), 8, "dtype F33"),
    (entry(dtype=[]), 8, r"dtype \[\]"), (entry(shape=[-2]), 8, "malformed"), (entry(shape=["2"]), 8, "malformed"),
    (entry(shape=[True]), 8, "malformed"), (entry(data_offsets=[0]), 8, "malformed"),
    (entry(data_offsets=[0, 4]), 8, "4 bytes, expected 8"), (entry(), 7, "7 bytes of data"), (entry(), 9, "9 bytes"),
    (entry(data_offsets=[1, 9]), 9, "gap or overlap"),
    ({**entry(), "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, 12, "gap or overlap"),
]


@pytest.mark.parametrize(("header", "data", "words"), BAD_HEADERS, ids=range(len(BAD_HEADERS)))
def test_contradictions_in_a_header_are_refused(tmp_path: Path, header: Any, data: int, words: str) -> None:
    with pytest.raises(BadCheckpoint, match=words):
        read_header(safetensors_file(tmp_path / "x", header, data))


@pytest.mark.parametrize("content", [b"", b"\x01", (2**60).to_bytes(8, "little") + b"{}"])
def test_weight_files_without_a_whole_header_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BadCheckpoint, match="a whole safetensors file"):
        read_header(tmp_path / "x")
