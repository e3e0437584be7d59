"""Checkpoints round-trip bit for bit, and bad ones are refused with found and expected values."""

import json
from pathlib import Path

import pytest
import torch

from hone.models import toy
from hone.models.checkpoint import Checkpoint, read_weights, weights_bytes
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.config_fields import Unsupported


def test_directory_and_files_read_the_same_and_write_the_same_bytes(tmp_path: Path) -> None:
    files = toy.files(1)
    one, other = Checkpoint.from_files(files), Checkpoint.from_directory(toy.write(tmp_path, 1))
    assert one.to_files() == other.to_files() == {**files, "model.safetensors": weights_bytes(one.tensors)}
    again = Checkpoint.from_files(one.to_files())
    assert all(torch.equal(again.tensors[name], tensor) for name, tensor in one.tensors.items())


def test_weight_bytes_do_not_depend_on_order_or_layout() -> None:
    tensors = {"b": torch.arange(6.0).view(2, 3), "a": torch.ones(2, dtype=torch.bfloat16)}
    shuffled = {"a": tensors["a"].clone(), "b": tensors["b"].t().contiguous().t()}
    assert weights_bytes(tensors) == weights_bytes(shuffled)
    assert torch.equal(read_weights(weights_bytes(tensors))["b"], tensors["b"])


def test_sharded_weights_are_read() -> None:
    files = toy.files(1)
    tensors = read_weights(files.pop("model.safetensors"))
    names = sorted(tensors)
    for shard, part in (("one.safetensors", names[:5]), ("two.safetensors", names[5:])):
        files[shard] = weights_bytes({name: tensors[name] for name in part})
    weight_map = {name: "one.safetensors" if name in names[:5] else "two.safetensors" for name in names}
    files["model.safetensors.index.json"] = json.dumps({"weight_map": weight_map}).encode()
    assert Checkpoint.from_files(files).to_files()["model.safetensors"] == weights_bytes(tensors)
    with pytest.raises(BadCheckpoint, match=r"two.safetensors: found no such file"):
        Checkpoint.from_files({name: data for name, data in files.items() if name != "two.safetensors"})


def _without(name: str) -> dict[str, bytes]:
    return {key: data for key, data in toy.files().items() if key != name}


def _with_tensors(**changes: torch.Tensor | None) -> dict[str, bytes]:
    files = toy.files()
    tensors = {**read_weights(files["model.safetensors"]), **changes}
    kept = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    return {**files, "model.safetensors": weights_bytes(kept)}


@pytest.mark.parametrize(("files", "message"), [
    (_without("model.safetensors"), r"model.safetensors: found files .*, expected model.safetensors"),
    (_without("config.json"), r"config.json: found files"),
    ({**toy.files(), "config.json": b"{"}, r"config.json: found .*, expected a JSON object"),
    ({**toy.files(), "model.safetensors": b"junk"}, r"model.safetensors: found 4 bytes"),
    ({**toy.files(), "model.safetensors": toy.files()["model.safetensors"][:-4]}, r"expected \d+ bytes, as its header"),
    (_with_tensors(**{"model.norm.weight": None}), r"model.norm.weight: found no such tensor, expected shape \[128\]"),
    (_with_tensors(**{"model.norm.weight": torch.ones(3)}), r"model.norm.weight: found shape \[3\]"),
    (_with_tensors(surplus=torch.ones(3)), r"surplus: found a tensor of this name"),
])
def test_bad_files_are_refused(files: dict[str, bytes], message: str) -> None:
    with pytest.raises(BadCheckpoint, match=message):
        Checkpoint.from_files(files)


def test_other_architectures_are_refused_by_name() -> None:
    config = {**json.loads(toy.files()["config.json"]), "architectures": ["MambaForCausalLM"]}
    with pytest.raises(Unsupported, match=r"architectures: found \['MambaForCausalLM'\], expected one of Qwen3"):
        Checkpoint.from_files({**toy.files(), "config.json": json.dumps(config).encode()})


def test_a_configuration_of_endless_layers_is_refused_before_their_names_are_made() -> None:
    config = json.loads(toy.files()["config.json"]) | {"num_hidden_layers": 10**9}
    with pytest.raises(BadCheckpoint, match=r"num_hidden_layers: found 1000000000, expected at most the \d+ tensors"):
        Checkpoint.from_files({**toy.files(), "config.json": json.dumps(config).encode()})
