"""The critic's packed forward against a plain transformers forward, and the tokens that a value may depend on."""

import numpy as np
import pytest
import torch

from hone.models import architecture, toy
from hone.models.checkpoint import Checkpoint
from hone.models.critic import HEAD, Critic
from hone.trajectory.microbatches import cut, nothing
from hone.trajectory.packing import pack
from tests.support.models.families import FAMILIES, stock
from tests.unit.trajectory.samples import call, plan, random_episodes, random_step, trajectory

CHECKPOINT = Checkpoint.from_files(toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64))


def tensors(seed=1):
    """A critic that begins with the toy model, but for its head, which is drawn."""
    drawn = torch.randn((1, 32), generator=torch.Generator().manual_seed(seed))
    return {**Critic.initial(CHECKPOINT.architecture, CHECKPOINT.tensors), HEAD: drawn}


def critic(**changes):
    return Critic(CHECKPOINT.architecture, {**tensors(), **changes})


def values_of(module, step, budget=10_000):
    """The values of a step, [M], with a gradient."""
    batch = pack(*step)
    micros = list(cut(batch, np.ones(len(batch.rows), np.bool_), budget))
    found, order = torch.cat([module(micro) for micro in micros]), np.concatenate([micro.token for micro in micros])
    return found[torch.from_numpy(np.argsort(order))]


def only(prompt, completion, **changes):
    return plan({0: [1.0]}), [trajectory(0, 0, call(prompt, completion, **changes))]


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("budget", [10_000, 60])
def test_the_packed_forward_is_the_plain_one(family, budget):
    model, config = stock(*FAMILIES[family])
    shape, head = architecture.parse(config), 0.3 * torch.randn((1, 32), generator=torch.Generator().manual_seed(3))
    module = Critic(shape, {**Critic.initial(shape, dict(model.named_parameters())), HEAD: head})
    plain_head, step = head.clone().requires_grad_(), random_step(seed=1, longest_prompt=20, longest_completion=30)
    expected = []
    for [one] in (each.calls for each in step[1]):
        states = model.model(torch.tensor([one.prompt_ids + one.completion_ids])).last_hidden_state[0]
        expected.append((states[len(one.prompt_ids) - 1:-1] @ plain_head.T)[:, 0])
    found, wanted = values_of(module, step, budget), torch.cat(expected)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    weights = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(2))
    (found * weights).sum().backward()
    (wanted * weights).sum().backward()
    for name, parameter in module.trained.items():
        gradient = plain_head.grad if name == HEAD else model.get_parameter(name).grad
        assert gradient is not None
        torch.testing.assert_close(
            parameter.grad, gradient, atol=2e-5 * float(gradient.abs().max()), rtol=1e-4, msg=name)


@pytest.mark.parametrize("place", range(5))
def test_a_value_sees_what_comes_before_its_token_and_nothing_else(place):
    completion = [7, 8, 9, 10, 11]
    changed = completion[:place] + [token + 10 for token in completion[place:]]
    before, after = (values_of(critic(), only([3, 4], ids)) for ids in (completion, changed))
    torch.testing.assert_close(after[:place + 1], before[:place + 1])
    assert (after[place + 1:] - before[place + 1:]).abs().min() > 1e-4 if place < 4 else True


def test_the_first_value_is_the_prompts():
    found, other = (values_of(critic(), only(prompt, [7, 8])) for prompt in ([3, 4], [3, 5]))
    assert (found - other).abs().min() > 1e-4


def test_masked_tokens_have_no_value_and_are_seen_by_later_ones():
    whole = values_of(critic(), only([5, 6], [7, 8, 9, 10]))
    some = values_of(critic(), only([5, 6], [7, 8, 9, 10], train_mask=[True, False, False, True]))
    torch.testing.assert_close(some, whole[[0, 3]])


def test_values_of_several_turns_stand_in_the_steps_order():
    step = random_episodes(seed=2)
    torch.testing.assert_close(values_of(critic(), step, 30), values_of(critic(), step))


def test_a_new_critic_says_0_everywhere_and_its_head_can_learn():
    module = Critic(CHECKPOINT.architecture, Critic.initial(CHECKPOINT.architecture, CHECKPOINT.tensors))
    found = values_of(module, random_step(seed=3))
    assert torch.equal(found, torch.zeros(len(found)))
    assert found.dtype == torch.float32
    found.sum().backward()
    gradient = module.trained[HEAD].grad
    assert gradient is not None
    assert gradient.abs().max() > 0


def test_parameters_are_called_what_they_are_called_in_checkpoints_and_the_head_by_its_own_name():
    for tied in (True, False):
        files = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64, tied=tied)
        checkpoint = Checkpoint.from_files(files)
        shape = checkpoint.architecture
        module = Critic(shape, Critic.initial(shape, checkpoint.tensors))
        assert {name: tuple(each.shape) for name, each in module.named_parameters()} == Critic.shapes(shape)
        assert list(module.trained) == list(Critic.shapes(shape))
        assert Critic.shapes(shape).keys() == shape.shapes().keys() - {"lm_head.weight"} | {"value_head.weight"}


def test_a_critic_shares_nothing_with_the_model_that_it_began_with():
    module = critic()
    with torch.no_grad():
        for parameter in module.trained.values():
            parameter.add_(1.0)
    fresh = Checkpoint.from_files(toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)).tensors
    assert all(torch.equal(tensor, fresh[name]) for name, tensor in CHECKPOINT.tensors.items())


def test_a_micro_batch_that_trains_nothing_reaches_every_parameter():
    module = critic()
    found = module(nothing())
    assert len(found) == 0
    found.sum().backward()
    for name, parameter in module.trained.items():
        assert parameter.grad is not None, name
        assert torch.equal(parameter.grad, torch.zeros_like(parameter)), name
