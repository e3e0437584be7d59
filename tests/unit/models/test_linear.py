"""The product by oneDNN against plain torch: values and every gradient."""

import pytest
import torch
import torch.nn.functional as F

from hone.models.linear import linear


def operands(rows, into, out, bias):
    made = torch.Generator().manual_seed(rows)
    shapes = [(rows, into), (out, into), *([(out,)] if bias else [])]
    return [torch.randn(shape, generator=made).requires_grad_() for shape in shapes]


def gradients(product, inputs):
    out = product(*inputs)
    return out, torch.autograd.grad((out * torch.arange(out.numel()).view_as(out).sin()).sum(), inputs)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("rows", "into", "out"), [(1, 8, 24), (64, 24, 8), (37, 16, 16), (0, 8, 8)])
def test_equals_plain_torch(rows, into, out, bias):
    inputs = operands(rows, into, out, bias)
    found, plain = gradients(linear, inputs), gradients(F.linear, inputs)
    torch.testing.assert_close(found, plain, atol=1e-5, rtol=1e-4)


def test_a_part_of_a_matrix_and_rows_that_lie_apart_are_taken():
    rows, weight, _ = operands(6, 10, 12, bias=True)
    torch.testing.assert_close(linear(rows[::2, 2:], weight[4:, 2:]), F.linear(rows[::2, 2:], weight[4:, 2:]))


def test_only_asked_gradients_are_computed():
    rows, weight = operands(4, 3, 2, bias=False)
    (for_rows,) = torch.autograd.grad(linear(rows, weight.detach()).sum(), [rows])
    torch.testing.assert_close(for_rows, weight.detach().sum(dim=0).expand(4, -1))


def test_other_numbers_are_left_to_torch():
    rows, weight = (tensor.detach().double() for tensor in operands(4, 3, 2, bias=False))
    assert torch.equal(linear(rows, weight), F.linear(rows, weight))
