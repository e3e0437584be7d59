"""The packed training forward against a plain transformers forward: log-probabilities, entropy, gradients."""


import numpy as np
import pytest
import torch

from hone.models import adapter, architecture, linear, policy, toy
from hone.models.adapter import Lora
from hone.models.checkpoint import Checkpoint
from hone.models.policy import Adapter, Policy
from hone.trajectory.microbatches import MicroBatch, cut
from hone.trajectory.packing import pack
from tests.oracles import decoder
from tests.support.models.families import FAMILIES, of_policy, of_stock, stock
from tests.unit.models.scalings import SCALINGS
from tests.unit.trajectory.samples import call, plan, random_step, trajectory

SCALED = {f"llama, {kind}": ("Llama", {"num_key_value_heads": 2, "rope_parameters": {**fields, "rope_theta": 5000.0}})
          for kind, fields in SCALINGS.items()}
"""Texts of the test are longer than the positions on which their rotary positions were trained."""


@pytest.mark.parametrize(("family", "temperature", "budget"), [
    *((family, *each) for family in sorted(FAMILIES) for each in ((1.0, 10_000), (0.7, 60))),
    *((family, 0.7, 60) for family in sorted(SCALED))])
def test_the_packed_forward_is_the_plain_one(family, temperature, budget):
    model, config = stock(*(FAMILIES | SCALED)[family])
    shape = architecture.parse(config)
    trained = Policy(shape, {name: model.get_parameter(name) for name in shape.shapes()})
    step = random_step(seed=1, longest_prompt=20, longest_completion=30)
    expected = torch.stack(of_stock(model, step[1], temperature))
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2))
    found = of_policy(trained, step, temperature, budget, weights)
    (expected * weights).sum().backward()
    torch.testing.assert_close(found, expected.detach(), atol=1e-5, rtol=1e-5)
    for name, parameter in trained.trained.items():
        wanted = model.get_parameter(name).grad
        torch.testing.assert_close(parameter.grad, wanted, atol=2e-5 * float(wanted.abs().max()), rtol=1e-4, msg=name)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("lora", [None, Lora(2, 4.0, ("q_proj", "down_proj"))], ids=["whole", "adapter"])
@pytest.mark.parametrize("onednn", [True, False])
def test_modules_compute_what_plain_functions_do(monkeypatch, family, lora, onednn):
    monkeypatch.setattr(linear, "_ONEDNN", onednn)
    model, config = stock(*FAMILIES[family])
    shape = architecture.parse(config)
    tensors = {name: model.get_parameter(name).detach() for name in shape.shapes()}
    own = {} if lora is None else {
        name: tensor + 0.01 for name, tensor in adapter.initial(shape, lora, 5).items()}
    trained = Policy(shape, tensors, None if lora is None else Adapter(lora, own))
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in (own or tensors).items()}
    batch = pack(*random_step(seed=1, longest_prompt=20, longest_completion=30))
    for micro in cut(batch, np.ones(len(batch.rows), np.bool_), 60):
        found, expected = trained(micro)[0], decoder.log_probabilities(shape, {**tensors, **leaves}, micro, lora)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        found.sum().backward()
        expected.sum().backward()
    assert trained.trained.keys() == leaves.keys()
    for name, leaf in leaves.items():
        ours, theirs = trained.trained[name].grad, leaf.grad
        assert theirs is not None
        torch.testing.assert_close(ours, theirs, atol=2e-5 * float(theirs.abs().max()), rtol=1e-4, msg=name)


def test_parameters_are_called_what_they_are_called_in_checkpoints():
    for tied in (True, False):
        checkpoint = Checkpoint.from_files(toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64, tied=tied))
        trained = Policy(checkpoint.architecture, checkpoint.tensors)
        assert {name: tuple(each.shape) for name, each in trained.named_parameters()} == trained.architecture.shapes()
        assert list(trained.trained) == list(trained.architecture.shapes())


def test_without_its_adapter_a_policy_is_its_base():
    checkpoint = Checkpoint.from_files(toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64))
    lora = Lora(2, 4.0, ("q_proj", "down_proj"))
    own = {name: tensor + 0.1 for name, tensor in adapter.initial(checkpoint.architecture, lora, 5).items()}
    beside = Policy(checkpoint.architecture, checkpoint.tensors, Adapter(lora, own))
    [micro] = cut(pack(*random_step(groups=1)), np.ones(4, np.bool_), 1000)
    assert torch.equal(beside(micro, adapted=False)[0], toy_policy()(micro)[0])
    assert not torch.equal(beside(micro)[0], toy_policy()(micro)[0])


def toy_policy():
    checkpoint = Checkpoint.from_files(toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64))
    return Policy(checkpoint.architecture, checkpoint.tensors)


def gradients(step, budget=10_000):
    trained = toy_policy()
    count = sum(len(each.calls[0].completion_ids) for each in step[1])
    found = of_policy(trained, step, 1.0, budget, torch.ones(2, count))
    return found, {name: parameter.grad for name, parameter in trained.trained.items()}


def test_logits_in_chunks_are_the_same(monkeypatch):
    step = random_step()
    whole, whole_gradients = gradients(step)
    monkeypatch.setattr(policy, "_LOGITS_AT_ONCE", 32 * 7)
    parts, part_gradients = gradients(step)
    torch.testing.assert_close(parts, whole)
    for name, gradient in part_gradients.items():
        torch.testing.assert_close(gradient, whole_gradients[name])


def test_the_same_bits_every_time():
    first, first_gradients = gradients(random_step(seed=4), budget=90)
    again, again_gradients = gradients(random_step(seed=4), budget=90)
    assert torch.equal(first, again)
    assert all(torch.equal(gradient, again_gradients[name]) for name, gradient in first_gradients.items())


def test_masked_tokens_in_between_change_nothing_but_the_context():
    alone = trajectory(0, 0, call([5, 6, 7, 8], [9, 10]))
    split = trajectory(0, 0, call([5, 6], [7, 8, 9, 10], train_mask=[False, False, True, True]))
    found = []
    for each in (alone, split):
        [micro] = cut(pack(plan({0: [1.0]}), [each]), np.ones(1, np.bool_), 100)
        found.append(toy_policy()(micro)[0].detach())
    torch.testing.assert_close(found[0], found[1])


def test_entropy_has_no_gradient_unless_asked_for():
    [micro] = cut(pack(*random_step(groups=1)), np.ones(4, np.bool_), 1000)
    assert not toy_policy()(micro)[1].requires_grad
    assert toy_policy()(micro, entropy_gradient=True)[1].requires_grad


@pytest.mark.parametrize("rows", [1 << 24, 64])
def test_chosen_ids_and_the_rest_are_the_whole_distribution(monkeypatch, rows):
    monkeypatch.setattr(policy, "_LOGITS_AT_ONCE", rows)
    trained, step = toy_policy(), pack(*random_step())
    [micro] = cut(step, np.ones(len(step.rows), np.bool_), 10_000)
    with torch.no_grad():
        _, _, ids, top_logp = trained(micro, top_k=5)
        logp, _, likeliest, rest = trained(micro, support=ids.numpy())
    torch.testing.assert_close(likeliest, top_logp)
    assert (top_logp[:, :-1] >= top_logp[:, 1:]).all()
    torch.testing.assert_close(likeliest.exp().sum(-1) + rest.exp(), torch.ones(len(logp)))


def test_all_ids_leave_no_rest_and_a_gradient_that_is_a_number():
    trained, step = toy_policy(), pack(*random_step())
    [micro] = cut(step, np.ones(len(step.rows), np.bool_), 10_000)
    size = trained.architecture.vocab_size
    _, _, logp, rest = trained(micro, support=np.tile(np.arange(size), (len(micro.targets), 1)))
    assert rest.isneginf().all()
    logp.sum().backward()
    assert all(torch.isfinite(tensor.grad).all() for tensor in trained.trained.values())


def test_what_equal_completions_predict_is_read_off_the_vocabulary_once(monkeypatch):
    ids = [[4, 5, 6], [4, 5, 7], [4, 5, 6], [8], [4, 5, 6], [9]]
    samples = [trajectory(0, index, call([1, 2], each)) for index, each in enumerate(ids)]
    step, rows, head = (plan({0: [1.0, 0.0, 1.0, 0.0, 0.5, 0.0]}), samples), [], policy._head
    monkeypatch.setattr("hone.models.decoder._TILE", 1)

    def counted(hidden, *rest):
        rows.append(len(hidden))
        return head(hidden, *rest)

    monkeypatch.setattr(policy, "_head", counted)
    once, once_gradients = gradients(step)
    assert rows == [6]
    monkeypatch.setattr(MicroBatch, "distinct", (np.arange(14), np.arange(14)))
    each, each_gradients = gradients(step)
    assert rows == [6, 14]
    torch.testing.assert_close(once, each)
    for name, gradient in each_gradients.items():
        torch.testing.assert_close(once_gradients[name], gradient, atol=1e-6, rtol=1e-5, msg=name)
