"""A directory is a model, or its first problem is named. Every claim of a weight file's header is checked."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from tokenizers import Tokenizer
from tokenizers.models import BPE

from hone.models import toy
from hone.models.checkpoint_header import BadCheckpoint
from hone.spec.problems import Invalid
from services.gateway.admission import weight_values
from services.gateway.admission.model_files import TensorHeader, inspect, read_header
from services.gateway.admission.weight_values import EMBEDDING, FORMATS, LARGEST, OUTPUT, StoredTensor


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
    (model / "tokenizer_config.json").unlink()


NORM, NAN = "model.norm.weight", float("nan")
BAD: list[tuple[Callable[[Path], Any], str, str]] = [
    (without("config.json"), "config.json", "no such file"),
    (text("config.json", "{"), "config.json", "text that is not JSON"),
    (text("config.json", "[]"), "config.json", "a JSON list"),
    (configured(architectures=["GPT2LMHeadModel"]), "config.json: architectures", '["GPT2LMHeadModel"]'),
    (configured(hidden_size="16"), "config.json: hidden_size", '"16"'),
    (configured(vocab_size=2**21), "config.json: vocab_size", "2097152"),
    (text("config.json", " " * (2**20 + 1)), "config.json", "1048577 bytes"),
    (text("model.safetensors.index.json", " " * (2**24 + 1)), "model.safetensors.index.json", "16777217 bytes"),
    (text("tokenizer.json", " " * (2**26 + 1)), "tokenizer.json", "67108865 bytes"),
    (configured(quantization_config={"bits": 4}), "config.json: quantization_config", '{"bits": 4}'),
    (configured(architectures=[[]]), "config.json", "a value of another type"),
    (configured(rms_norm_eps="small"), "config.json: rms_norm_eps", '"small"'),
    (configured(rms_norm_eps=0), "config.json: rms_norm_eps", "0"),
    (configured(rope_scaling="long"), "config.json: rope_scaling", '"long"'),
    (configured(rope_parameters={"rope_theta": NAN}), "config.json: rope_parameters.rope_theta", "NaN"),
    (configured(model_type="llama"), "config.json: model_type", '"llama"'),
    (configured(num_hidden_layers=2), "model.layers.1.input_layernorm.weight", "no such tensor"),
    (configured(tie_word_embeddings=False), "lm_head.weight", "no such tensor"),
    (without("model.safetensors"), "model.safetensors", "no such file among"),
    (lambda model: (model / "model.safetensors").rename(model / "model.pt"), "model.safetensors", "model.pt"),
    (text("model.safetensors", "pickle"), "model.safetensors", "6 bytes that do not begin with a header"),
    (weights(lambda tensors: tensors.pop(NORM)), NORM, "no such tensor"),
    (weights(lambda tensors: tensors.update({NORM: np.ones(15, np.float32)})), NORM, "shape [15]"),
    (weights(lambda tensors: tensors.update({NORM: np.ones(16, np.float64)})), NORM, "dtype F64"),
    (weights(lambda tensors: tensors[NORM].put(3, NAN)), NORM, "nan at [3]"),
    (weights(lambda tensors: tensors[EMBEDDING].put(16 * 5 + 2, -np.inf)), EMBEDDING, "-inf at [5, 2]"),
    (weights(lambda tensors: tensors[EMBEDDING].put(7, -3e38)), EMBEDDING, "-3e+38 at [0, 7]"),
    (weights(lambda tensors: tensors.update({OUTPUT: tensors[EMBEDDING] * np.float32(1.001)})), OUTPUT,
     "a tensor that differs from model.embed_tokens.weight in row 0"),
    (weights(lambda tensors: tensors.update({OUTPUT: tensors[EMBEDDING][1:]})), OUTPUT, "shape [31, 16]"),
    (weights(lambda tensors: tensors.update(more=np.ones(1, np.float32))), "more", "a tensor of this name"),
    (without("tokenizer.json"), "tokenizer.json", "no such file"),
    (text("tokenizer.json", "{}"), "tokenizer.json", ""),
    (big_tokenizer, "tokenizer.json", "the token 't32' with id 32"),
    (endless, "eos", "found none in"),
    (text("generation_config.json", '{"eos_token_id": 99}'), "generation_config.json", "eos_token_id: found 99"),
    (text("chat_template.jinja", "{{ nothing.there }}"), "chat_template", "question: "),
    (text("chat_template.jinja", "{{ raise_exception('never') }}"), "chat_template", "question: "),
    (text("chat_template.jinja", "{% if %}"), "chat_template", "Expected an expression"),
    (text("tokenizer_config.json", '{"chat_template": [{"name": "rag", "template": "a"}]}'), "chat_template",
     "found templates named rag"),
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


HALVES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("piece", [1 << 22, 7])
def test_values_of_every_format_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str, piece: int,
) -> None:
    monkeypatch.setattr(weight_values, "_PIECE", piece)
    largest = min(LARGEST, torch.finfo(HALVES[dtype]).max)
    values = torch.randn(5, 9, generator=torch.Generator().manual_seed(0)).to(HALVES[dtype])
    values[1, 1], values[2, 2], values[3, 3], values[4, 4] = largest, -largest, -0.0, 1e-7
    safetensors.torch.save_file({"other": torch.zeros(3), "x": values}, tmp_path / "file")
    header = read_header(tmp_path / "file")["x"]
    stored = StoredTensor(tmp_path / "file", dtype, header.shape, header.start)
    with stored.path.open("rb") as file:
        assert np.array_equal(np.concatenate(list(stored.floats(file))), values.flatten().float().numpy())
        assert int(np.concatenate(list(stored.pieces(file))).max()) >= FORMATS[dtype].largest
        weight_values._check_sizes("x", stored, file)
    for bad in (math.nan, -math.inf, *(() if dtype == "F16" else (LARGEST * 1.01,))):
        changed = values.clone()
        changed[4, 8] = bad
        safetensors.torch.save_file({"other": torch.zeros(3), "x": changed}, tmp_path / "file")
        with pytest.raises(BadCheckpoint, match=r"^x: found .* at \[4, 8\], expected finite numbers"), (
                stored.path.open("rb")) as file:
            weight_values._check_sizes("x", stored, file)


def test_a_tied_output_that_is_the_embedding_is_accepted_in_any_format(model: Path) -> None:
    tensors = safetensors.torch.load_file(model / "model.safetensors")
    half = {name: tensor.half() for name, tensor in tensors.items()}
    for output in (half[EMBEDDING], half[EMBEDDING].float()):
        safetensors.torch.save_file({**half, OUTPUT: output.clone()}, model / "model.safetensors")
        assert inspect(model).facts.dtype == "float16"


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


LONG = (2**24 + 1).to_bytes(8, "little") + b"[" + b"[]," * (2**23)


@pytest.mark.parametrize("content", [b"", b"\x01", (2**60).to_bytes(8, "little") + b"{}", LONG],
                         ids=["empty", "short", "giant", "long"])
def test_weight_files_without_a_whole_header_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BadCheckpoint, match="a whole safetensors file"):
        read_header(tmp_path / "x")
