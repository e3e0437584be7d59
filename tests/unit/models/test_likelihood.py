"""Tiles of a large vocabulary against the plain softmax in float64: values, gradients, and omitted gradients."""

import pytest
import torch

from hone.models.likelihood import likelihood

M, H, V = 7, 5, 23
F64 = torch.float64


def drawn(seed=0, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    hidden, weight = (torch.randn(size, H, generator=generator, dtype=F64) * spread for size in (M, V))
    return hidden, weight, torch.randint(0, V, (M,), generator=generator)


def plain(hidden, weight, targets, temperature):
    """The definition: every logit at once."""
    logp = torch.log_softmax(hidden @ weight.T / temperature, dim=-1)
    entropy = -(logp.exp() * logp).sum(dim=-1)
    expected = (logp.exp() ** 2 * (logp + entropy[:, None])).sum(dim=-1)
    return logp[torch.arange(M), targets], entropy, expected


def gradients(function, hidden, weight, by):
    """Gradients by states and output matrix of the outputs `by`, each weighted otherwise at each token."""
    hidden, weight = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    outputs = function(hidden, weight)
    sum((outputs[place] * torch.linspace(-1, 2, M, dtype=F64)).sum() * (place + 1) for place in by).backward()
    return hidden.grad, weight.grad


@pytest.mark.parametrize("columns", [1, 4, 22, 23, 100])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_tiles_tell_what_the_whole_tells(columns, temperature):
    hidden, weight, targets = drawn()
    found = likelihood(hidden, weight, targets, temperature, columns, expected=True)
    for mine, wanted in zip(found, plain(hidden, weight, targets, temperature), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("by", [(0,), (1,), (0, 1)], ids=["logp", "entropy", "both"])
@pytest.mark.parametrize("columns", [4, 23])
def test_gradients_are_those_of_the_whole(by, columns):
    hidden, weight, targets = drawn(1)
    mine = gradients(lambda h, w: likelihood(h, w, targets, 0.7, columns), hidden, weight, by)
    wanted = gradients(lambda h, w: plain(h, w, targets, 0.7), hidden, weight, by)
    torch.testing.assert_close(mine, wanted, rtol=0, atol=1e-12)


def test_float32_stays_within_a_hundred_thousandth():
    hidden, weight, targets = drawn(2, spread=2.0)
    found = likelihood(hidden.float(), weight.float(), targets, 1.0, 4, expected=True)
    for mine, wanted in zip(found, plain(hidden, weight, targets, 1.0), strict=True):
        torch.testing.assert_close(mine.double(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spread", [1e2, 1e4])
def test_logits_of_any_size_have_finite_answers(spread):
    hidden, weight, targets = drawn(3, spread)
    hidden, weight = hidden.float().requires_grad_(), weight.float().requires_grad_()
    outputs = likelihood(hidden, weight, targets, 1.0, 4, expected=True)
    (outputs[0].sum() + outputs[1].sum()).backward()
    assert all(values.isfinite().all() for values in outputs)
    assert float(outputs[0].detach().max()) <= 0


def test_an_output_matrix_that_is_not_trained_gets_no_gradient():
    hidden, weight, targets = drawn(4)
    hidden.requires_grad_()
    likelihood(hidden, weight, targets, 1.0, 4)[0].sum().backward()
    assert weight.grad is None
    assert hidden.grad.abs().sum() > 0


def test_the_third_figure_has_no_gradient():
    hidden, weight, targets = drawn(5)
    outputs = likelihood(hidden.requires_grad_(), weight, targets, 1.0, 4, expected=True)
    assert [one.requires_grad for one in outputs] == [True, True, False]
