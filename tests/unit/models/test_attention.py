"""Attention over spans: loops, padded products and both together against the definition in double precision."""

import numpy as np
import pytest
import torch
from torch import Tensor

from hone.models import attention
from hone.models.attention import attend, laid_out

CPU = torch.device("cpu")
SPANS = np.array([[0, 7, 0, 0], [7, 5, 0, 7], [12, 1, 0, 7], [13, 30, 7, 10], [43, 2, 17, 0], [45, 11, 17, 2]])
BEHIND = np.array([*range(7), *range(7), 7, 8, 9, 43, 44])
TOKENS, READ = 60, 56


def states(heads: int, kv_heads: int, size: int) -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(TOKENS, count, size) for count in (heads, kv_heads, kv_heads)]


def defined(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Every token by itself, in double precision."""
    group = query.shape[1] // key.shape[1]
    key, value = (each.double().repeat_interleave(group, 1) for each in (key, value))
    rows = []
    for start, length, first, before in SPANS.tolist():
        for place in range(length):
            seen = [*BEHIND[first:first + before].tolist(), *range(start, start + place + 1)]
            scores = torch.einsum("hd,shd->hs", query[start + place].double(), key[seen]) / query.shape[2] ** 0.5
            rows.append(torch.einsum("hs,shd->hd", scores.softmax(-1), value[seen]).flatten())
    return torch.stack(rows)


def outcome(mixed: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    torch.manual_seed(1)
    weights = torch.randn(READ, mixed.shape[1], dtype=torch.float64)
    gradients = torch.autograd.grad((mixed[:READ].double() * weights).sum(), leaves)
    return [each.double() for each in (mixed[:READ], *gradients)]


@pytest.mark.parametrize(("heads", "kv_heads", "size"), [(4, 4, 32), (6, 2, 30), (2, 1, 8)])
@pytest.mark.parametrize("near", [1024, 10, 0])
def test_attention_is_as_defined(
    monkeypatch: pytest.MonkeyPatch, heads: int, kv_heads: int, size: int, near: int
) -> None:
    monkeypatch.setattr(attention, "NEAR", near)
    leaves = [each.requires_grad_() for each in states(heads, kv_heads, size)]
    layout = laid_out(SPANS, BEHIND, TOKENS, CPU)
    assert (len(layout.near) == len(SPANS), len(layout.near) > 0) == (near == 1024, near > 0)
    query, key, value = leaves
    found, wanted = attend(query, key, value, layout), defined(query, key, value)
    for one, other in zip(outcome(found, leaves), outcome(wanted, leaves), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_loops_are_a_processors() -> None:
    assert len(laid_out(SPANS, BEHIND, TOKENS, torch.device("meta")).near) == 0


def test_what_a_token_mixes_does_not_depend_on_what_else_stands_there() -> None:
    query, key, value = states(4, 2, 16)
    whole = attend(query, key, value, laid_out(SPANS, BEHIND, TOKENS, CPU))
    alone = attend(query, key, value, laid_out(SPANS[[0, 1, 3]], BEHIND, TOKENS, CPU))
    assert torch.equal(whole[13:43], alone[13:43])


def test_a_large_score_overflows_nothing() -> None:
    query, key, value = (each * 200 for each in states(2, 2, 8))
    mixed = attend(query.requires_grad_(), key, value, laid_out(SPANS, BEHIND, TOKENS, CPU))
    gradient, = torch.autograd.grad(mixed.sum(), query)
    assert bool(mixed.isfinite().all())
    assert bool(gradient.isfinite().all())
