"""The products of either library against plain torch in its own: values and every gradient."""

import pytest
import torch
import torch.nn.functional as F

from hone.models import linear as module
from hone.models.linear import linear, linear_plus


@pytest.fixture(params=["onednn", "plain"], autouse=True)
def library(request, monkeypatch):
    """Both are taken on every processor here, whichever is its own."""
    monkeypatch.setattr(module, "_ONEDNN", request.param == "onednn")


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


@pytest.mark.parametrize(("rows", "into", "out"), [(1, 8, 24), (64, 24, 8), (37, 16, 16), (0, 8, 8)])
def test_a_summand_of_each_row_is_added(rows, into, out):
    inputs = [*operands(rows, into, out, bias=False), torch.randn(rows, out).requires_grad_()]
    plain = gradients(lambda rows, weight, summand: F.linear(rows, weight) + summand, inputs)
    torch.testing.assert_close(gradients(linear_plus, inputs), plain, atol=1e-5, rtol=1e-4)


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
    assert torch.equal(linear_plus(rows, weight, rows[:, :1]), torch.addmm(rows[:, :1], rows, weight.t()))


@pytest.mark.parametrize(("maker", "found"), [("GenuineIntel", True), ("AuthenticAMD", False)])
def test_the_processors_maker_is_read_off_what_the_kernel_says(monkeypatch, tmp_path, maker, found):
    monkeypatch.setattr(module, "_CPUINFO", tmp_path / "cpuinfo")
    assert not module._of_intel()
    (tmp_path / "cpuinfo").write_text(f"vendor_id\t: {maker}\n")
    assert module._of_intel() is found
