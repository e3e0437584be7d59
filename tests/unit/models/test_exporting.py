"""Exports load in stock transformers and are compared. Exports that differ or do not load are refused."""

import json

import pytest
import torch
import transformers

from hone.models import toy
from hone.models.adapter import Lora
from hone.models.checkpoint import Checkpoint, read_weights, weights_bytes
from hone.models.exporting import ExportRefused, hf_files, verify
from hone.models.policy import Policy
from hone.models.probe import expected
from services.learner.trainer.learner import Learner
from tests.unit.trajectory.samples import random_step


def small():
    return toy.files(3, hidden=32, heads=2, head_dim=16, ffn=64)


def written(directory, files):
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


def noted(files):
    """Return the probe that the trainer computes of a version."""
    whole = Checkpoint.from_files(files)
    return expected(Policy(whole.architecture, whole.tensors))


def test_an_export_is_compared_with_what_the_trainer_noted(tmp_path):
    files = hf_files(small())
    agreed = verify(written(tmp_path, files), noted=noted(small()))
    assert (agreed.max_abs_diff < 1e-5, agreed.compared_with) == (True, "probe")
    assert files["model.safetensors"] == small()["model.safetensors"]


@pytest.mark.usefixtures("stock_here")
def test_a_version_without_a_note_is_compared_with_our_own_forward(tmp_path):
    agreed = verify(written(tmp_path, hf_files(small())))
    assert (agreed.max_abs_diff < 1e-5, agreed.compared_with) == (True, "forward")


@pytest.mark.usefixtures("stock_here")
def test_an_export_with_one_changed_tensor_is_refused(tmp_path):
    files = hf_files(small())
    tensors = read_weights(files["model.safetensors"])
    tensors["model.layers.0.mlp.down_proj.weight"] *= 1.5
    changed = written(tmp_path, {**files, "model.safetensors": weights_bytes(tensors)})
    assert verify(changed).compared_with == "forward", "our own forward of the files cannot know"
    with pytest.raises(ExportRefused, match=r"found a difference of 0\.\d+ nats, expected at most 0\.001"):
        verify(changed, noted=noted(small()))


def test_the_config_says_the_weights_dtype():
    files = small()
    config = {**json.loads(files["config.json"]), "torch_dtype": "bfloat16", "dtype": "bfloat16"}
    exported = json.loads(hf_files({**files, "config.json": json.dumps(config).encode()})["config.json"])
    assert exported["dtype"] == "float32"
    assert "torch_dtype" not in exported


def test_a_directory_that_does_not_load_is_refused(tmp_path):
    files = hf_files(small())
    config = json.dumps({**json.loads(files["config.json"]), "attention_dropout": "nonsense"}).encode()
    with pytest.raises(ExportRefused, match=r"(?s)the stock library does not load it.*nonsense"):
        verify(written(tmp_path, {**files, "config.json": config}), noted=noted(small()))
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ExportRefused, match=r"model\.safetensors: found 7 bytes"):
        verify(tmp_path, noted=noted(small()))


def test_files_that_are_no_model_are_refused_by_name():
    files = small()
    del files["model.safetensors"]
    with pytest.raises(ExportRefused, match=r"model\.safetensors"):
        hf_files(files)


@pytest.mark.usefixtures("stock_here")
@pytest.mark.parametrize(("dtype", "mixed", "written_as"), [
    (torch.float16, False, "float16"), (torch.bfloat16, False, "bfloat16"), (torch.float16, True, "float32"),
    (torch.bfloat16, True, "float32")])
def test_weights_of_two_bytes_load_elsewhere_as_they_are(tmp_path, dtype, mixed, written_as):
    files, draw = small(), torch.Generator().manual_seed(1)
    tensors = {name: tensor.to(dtype) if tensor.dim() > 1 else (1 + torch.randn(tensor.shape, generator=draw) / 9).to(
        torch.float32 if mixed else dtype) for name, tensor in read_weights(files["model.safetensors"]).items()}
    files["model.safetensors"] = weights_bytes(tensors)
    exported = written(tmp_path, hf_files(files))
    assert json.loads((exported / "config.json").read_text())["dtype"] == written_as
    assert verify(exported, noted=noted(files)).max_abs_diff < 1e-5
    theirs = transformers.AutoModelForCausalLM.from_pretrained(exported)
    for name, parameter in theirs.named_parameters():
        assert torch.equal(parameter.float(), tensors[name].float()), name
    again = Checkpoint.from_directory(exported)
    assert again.to_files()["model.safetensors"] == files["model.safetensors"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_base_of_two_bytes_is_trained_in_float32_whole_or_beside_an_adapter(dtype):
    files = small()
    tensors = {name: tensor.to(dtype) for name, tensor in read_weights(files["model.safetensors"]).items()}
    files["model.safetensors"] = weights_bytes(tensors)
    wide = {**files, "model.safetensors": weights_bytes({name: one.float() for name, one in tensors.items()})}
    for lora in (None, Lora(2, 4.0, ("q_proj", "down_proj"))):
        narrow, exact = (Learner.create(each, {}, token_budget=256, lora=lora) for each in (files, wide))
        for trained in (narrow, exact):
            trained.forward_backward(*random_step(seed=1))
            trained.optim_step(1e-2, 1.0)
        assert {tensor.dtype for tensor in read_weights(narrow.weights()).values()} == {torch.float32}
        assert narrow.weights() == exact.weights()
        base = None if lora is None else files
        again = Learner.restore(narrow.snapshot(), {}, token_budget=256, base=base)
        assert again.probe() == narrow.probe()
