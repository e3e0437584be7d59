"""The compiled operators against plain torch in double precision: values and gradients."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from hone.models.policy_operators import gated, gather, heads, rms_norm, taken

Operator = Callable[..., Tensor | tuple[Tensor, ...]]


def outcome(operator: Operator, inputs: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """Return an operator's outputs in this precision, and the gradients of a weighted sum of it for its inputs."""
    leaves = [each.to(dtype).requires_grad_() for each in inputs]
    found = operator(*leaves)
    outputs = list(found) if isinstance(found, tuple) else [found]
    torch.manual_seed(1)
    total = torch.stack([(each * torch.randn(each.shape).to(dtype)).sum() for each in outputs]).sum()
    return [each.detach().double() for each in (*outputs, *torch.autograd.grad(total, leaves, materialize_grads=True))]


def hold_to_torch(operator: Operator, *inputs: Tensor) -> None:
    """The compiled form takes float32; in float64 the same function is plain torch."""
    found, wanted = (outcome(operator, inputs, dtype) for dtype in (torch.float32, torch.float64))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize(("rows", "size"), [(1, 8), (5, 128), (300, 33)])
def test_rms_norm(rows: int, size: int) -> None:
    torch.manual_seed(0)
    hold_to_torch(lambda x, weight: rms_norm(x, weight, 1e-3), torch.randn(rows, size), torch.randn(size))


@pytest.mark.parametrize(("queries", "kv_heads", "size"), [(4, 2, 16), (2, 2, 8), (6, 1, 32)])
@pytest.mark.parametrize("normed", [True, False])
def test_heads(queries: int, kv_heads: int, size: int, normed: bool) -> None:
    torch.manual_seed(0)
    angles = torch.randn(7, size // 2, dtype=torch.float64)

    def operator(flat: Tensor, norms: Tensor) -> tuple[Tensor, ...]:
        return heads(flat, norms, angles.cos().to(flat.dtype), angles.sin().to(flat.dtype), 1e-3, kv_heads)

    norms = torch.randn(queries + kv_heads if normed else 0, size)
    hold_to_torch(operator, torch.randn(7, (queries + 2 * kv_heads) * size), norms)


def test_rotation_turns_a_head_by_its_angle_and_leaves_values() -> None:
    flat, nothing = torch.tensor([[1.0, 0.0, 1.0, 0.0, 5.0, 6.0]]), torch.empty(0, 2)
    query, key, value = heads(flat, nothing, torch.zeros(1, 1), torch.ones(1, 1), 1e-6, kv_heads=1)
    assert query.tolist() == key.tolist() == [[[0.0, 1.0]]]
    assert value.tolist() == [[[5.0, 6.0]]]


def test_gated() -> None:
    torch.manual_seed(0)
    gate = torch.cat([torch.randn(3, 100) * 4, torch.tensor([[-200.0, 200.0, 0.0, -87.5] * 25])])
    hold_to_torch(gated, gate, torch.randn(4, 100))


def test_what_is_gathered_more_than_once_gets_all_its_gradients() -> None:
    states = torch.arange(8.0).view(4, 2).requires_grad_()
    first, second = gather(states, [torch.tensor([[0, 1], [1, 3]]), torch.tensor([[1]])])
    assert first.tolist() == [[[0, 1], [2, 3]], [[2, 3], [6, 7]]]
    assert second.tolist() == [[[2, 3]]]
    (gradient,) = torch.autograd.grad(first.sum() + 10 * second.sum(), states)
    assert gradient.tolist() == [[1, 1], [12, 12], [0, 0], [1, 1]]


def test_taken() -> None:
    torch.manual_seed(0)
    hold_to_torch(lambda rows: taken(rows, torch.tensor([4, 0, 4, 4, 2])), torch.randn(5, 33))
    hold_to_torch(lambda rows: taken(rows, torch.empty(0, dtype=torch.int64)), torch.randn(5, 33))


def test_without_places_all_rows_are_taken_as_they_are() -> None:
    rows = torch.randn(5, 3)
    assert taken(rows, None) is rows


def test_what_is_not_a_number_stays_so() -> None:
    rows = torch.tensor([[1.0, torch.nan], [1.0, 2.0]])
    assert rms_norm(rows, torch.ones(2), 1e-6)[1].isnan().any(1).tolist() == [True, False]
    assert gated(rows, torch.ones(2, 2)).isnan().any(1).tolist() == [True, False]
