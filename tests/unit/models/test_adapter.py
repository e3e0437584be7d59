"""Adapters: forms, first values, merging, and the same gradients as stock PEFT."""

import json
from typing import Any

import peft
import pytest
import torch
import transformers

from hone.models import adapter, architecture, probe, toy
from hone.models.adapter import Lora
from hone.models.checkpoint import Checkpoint, read_weights, weights_bytes
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.exporting import ExportRefused, base_files, export_files, verify
from hone.models.policy import Adapter, Policy
from tests.support.models.families import FAMILIES, of_policy, of_stock, stock
from tests.unit.trajectory.samples import random_step

ALL = Lora(4, 8.0, ("down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"))
SOME = Lora(2, 6.0, ("down_proj", "k_proj"))
FILES = toy.files(3, hidden=32, heads=2, head_dim=16, ffn=64)
FORMS = pytest.mark.parametrize("lora", [ALL, SOME], ids=["all", "some"])


def drawn(shape, lora):
    """An adapter that changes something."""
    random = torch.Generator().manual_seed(1)
    return {name: torch.randn(size, generator=random) * 0.2 for name, size in lora.shapes(shape).items()}


def version(lora):
    """A version's files: a base, and an adapter beside it."""
    shape = Checkpoint.from_files(FILES).architecture
    return {**FILES, adapter.WEIGHTS: weights_bytes(drawn(shape, lora)), adapter.CONFIG: lora.config("base")}


@FORMS
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_log_probs_and_gradients_are_those_of_stock_peft(family, lora):
    model, config = stock(*FAMILIES[family])
    shape = architecture.parse(config)
    tensors = drawn(shape, lora)
    ours = Policy(shape, {name: model.get_parameter(name) for name in shape.shapes()}, Adapter(lora, tensors))
    theirs = peft.get_peft_model(model, peft.LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=list(lora.targets), task_type="CAUSAL_LM"))
    left: Any = peft.set_peft_model_state_dict(theirs, tensors)
    assert not left.unexpected_keys
    step = random_step(seed=1, longest_prompt=20, longest_completion=30)
    expected = torch.stack(of_stock(theirs, step[1], 1.0))
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2))
    found = of_policy(ours, step, 1.0, 60, weights)
    (expected * weights).sum().backward()
    torch.testing.assert_close(found, expected.detach(), atol=2e-5, rtol=1e-5)
    assert ours.trained.keys() == tensors.keys()
    for name, parameter in ours.trained.items():
        wanted: Any = theirs.get_parameter(name.replace(".weight", ".default.weight")).grad
        torch.testing.assert_close(parameter.grad, wanted, atol=2e-5 * float(wanted.abs().max()), rtol=1e-4, msg=name)


@FORMS
def test_a_merged_model_computes_what_the_adapter_beside_its_base_does(lora):
    base, whole = Checkpoint.from_files(FILES), Checkpoint.from_files(version(lora))
    step = random_step(seed=1)
    weights = torch.ones(2, sum(len(each.calls[0].completion_ids) for each in step[1]))
    beside = Policy(base.architecture, base.tensors, Adapter(lora, drawn(base.architecture, lora)))
    merged, plain = (Policy(base.architecture, each.tensors) for each in (whole, base))
    found, expected, without = (of_policy(each, step, 1.0, 999, weights) for each in (beside, merged, plain))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert float((found - without).abs().max()) > 1e-3


@FORMS
def test_an_adapter_begins_by_changing_nothing(lora):
    base = Checkpoint.from_files(FILES)
    first = adapter.initial(base.architecture, lora, seed=5)
    assert {name: tuple(tensor.shape) for name, tensor in first.items()} == lora.shapes(base.architecture)
    merged = adapter.merged(base.tensors, lora, first, base.architecture)
    assert all(torch.equal(merged[name], base.tensors[name]) for name in base.tensors)
    again, other = (adapter.initial(base.architecture, lora, seed) for seed in (5, 6))
    name = next(name for name in first if "lora_A" in name)
    assert torch.equal(first[name], again[name])
    assert not torch.equal(first[name], other[name])
    assert 0.5 < float(first[name].abs().max()) * first[name].shape[1] ** 0.5 <= 1.0


def test_a_form_is_read_back_from_its_config():
    assert Lora.from_config(SOME.config("my-base")) == SOME
    assert json.loads(SOME.config("my-base"))["base_model_name_or_path"] == "my-base"


@pytest.mark.parametrize("change", [{"use_dora": True}, {"bias": "all"}, {"peft_type": "IA3"}])
def test_another_kind_of_adapter_is_refused(change):
    config = json.dumps({**json.loads(SOME.config("base")), **change}).encode()
    with pytest.raises(BadCheckpoint, match=next(iter(change))):
        Lora.from_config(config)


@pytest.mark.parametrize("spoil", [
    lambda _: {}, lambda tensors: dict(list(tensors.items())[1:]),
    lambda tensors: {name: tensor[:1] for name, tensor in tensors.items()},
    lambda tensors: {**tensors, "stranger": torch.zeros(1)}])
def test_tensors_that_do_not_fit_are_refused(spoil):
    files = version(SOME)
    files[adapter.WEIGHTS] = weights_bytes(spoil(read_weights(files[adapter.WEIGHTS])))
    with pytest.raises(BadCheckpoint, match=r"adapter_model\.safetensors"):
        Checkpoint.from_files(files)


def test_an_adapter_without_its_form_is_refused():
    files = version(SOME)
    del files[adapter.CONFIG]
    with pytest.raises(BadCheckpoint, match="adapter_config"):
        Checkpoint.from_files(files)


def written(directory, files):
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


def noted(lora):
    """Return the probe that the trainer computes: with the adapter beside its base."""
    base = Checkpoint.from_files(FILES)
    return probe.expected(Policy(base.architecture, base.tensors, Adapter(lora, drawn(base.architecture, lora))))


def exported(directory, lora):
    """An export's directory, and its base's."""
    return written(directory / "out", export_files(version(lora))), written(
        directory / "base", base_files(version(lora)) or {})


def test_an_export_is_loaded_by_stock_peft_and_compared_with_what_the_trainer_noted(tmp_path):
    compare_export(ALL, tmp_path)


@pytest.mark.usefixtures("stock_here")
def test_an_export_of_some_targets_is_compared_too(tmp_path):
    compare_export(SOME, tmp_path)


def compare_export(lora, tmp_path):
    out, base = exported(tmp_path, lora)
    assert {"tokenizer.json", adapter.WEIGHTS} <= {path.name for path in out.iterdir()}
    assert not (out / "model.safetensors").exists()
    agreed = verify(out, base, noted(lora))
    assert (agreed.max_abs_diff < 1e-5, agreed.compared_with) == (True, "probe")
    assert base_files(FILES) is None


@FORMS
def test_stock_peft_computes_the_trainers_log_probs_and_gradients_from_an_export(lora, tmp_path):
    out, base = exported(tmp_path, lora)
    theirs: Any = peft.PeftModel.from_pretrained(
        transformers.AutoModelForCausalLM.from_pretrained(base), str(out), is_trainable=True)
    whole = Checkpoint.from_files(FILES)
    ours = Policy(whole.architecture, whole.tensors, Adapter(lora, drawn(whole.architecture, lora)))
    step = random_step(seed=1)
    expected = torch.stack(of_stock(theirs, step[1], 1.0))
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2))
    found = of_policy(ours, step, 1.0, 999, weights)
    (expected * weights).sum().backward()
    torch.testing.assert_close(found, expected.detach(), atol=2e-5, rtol=1e-5)
    for name, parameter in ours.trained.items():
        wanted = theirs.get_parameter(name.replace(".weight", ".default.weight")).grad
        torch.testing.assert_close(parameter.grad, wanted, atol=2e-5 * float(wanted.abs().max()), rtol=1e-4, msg=name)


@pytest.mark.usefixtures("stock_here")
def test_an_export_with_one_changed_tensor_is_refused(tmp_path):
    out, base = exported(tmp_path, SOME)
    tensors = read_weights((out / adapter.WEIGHTS).read_bytes())
    tensors[next(name for name in tensors if "down_proj.lora_B" in name)] *= 1.5
    (out / adapter.WEIGHTS).write_bytes(weights_bytes(tensors))
    with pytest.raises(ExportRefused, match="found a difference of"):
        verify(out, base, noted(SOME))


@pytest.mark.usefixtures("stock_here")
@pytest.mark.parametrize(("change", "said"), [
    ({"lora_alpha": 3.0}, "found a difference of"), ({"target_modules": ["v_proj"]}, r"down_proj.*expected None")])
def test_an_export_of_which_peft_makes_something_else_is_refused(change, said, tmp_path):
    out, base = exported(tmp_path, SOME)
    form = json.loads((out / adapter.CONFIG).read_bytes())
    (out / adapter.CONFIG).write_text(json.dumps({**form, **change}))
    with pytest.raises(ExportRefused, match=said):
        verify(out, base, noted(SOME))
