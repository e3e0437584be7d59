"""Attention of one query per sequence, compared with tensor operations."""

import numpy as np
import pytest
import torch
from torch import Tensor

from services.inference.native.attention import BLOCK, attention
from tests.support.inference.attention import SHAPES


def attended(qkv: Tensor, keys: Tensor, values: Tensor, positions: list[int], heads: int) -> Tensor:
    """Return the attention over keys and values [rows, kv_heads, positions, width] whose blocks are in any order."""
    _, kv_heads, _, width = keys.shape
    mixed = torch.empty(len(qkv), heads * width)
    laid_keys, laid_values = (lines.unflatten(2, (-1, BLOCK)).transpose(1, 2).flatten(0, 1) for lines in (keys, values))
    order = torch.randperm(len(laid_keys), generator=torch.Generator().manual_seed(1))
    attention(heads, kv_heads, width)(
        qkv.numpy(), laid_keys[order].transpose(2, 3).contiguous().numpy(), laid_values[order].contiguous().numpy(),
        order.argsort().view(len(keys), -1).numpy(), np.arange(len(positions)), np.array(positions), mixed.numpy())
    return mixed


def plain(qkv: Tensor, keys: Tensor, values: Tensor, positions: list[int], heads: int) -> Tensor:
    _, kv_heads, _, width = keys.shape
    rows = []
    for row, position in enumerate(positions):
        for head in range(heads):
            query, line = qkv[row, head * width:(head + 1) * width].double(), (row, head * kv_heads // heads)
            shares = torch.softmax(keys[line][:position + 1].double() @ query, -1)
            rows.append(shares @ values[line][:position + 1].double())
    return torch.stack(rows).view(len(qkv), -1)


def drawn(heads: int, kv_heads: int, width: int, rows: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    keys, values = torch.randn(2, rows, kv_heads, 80, width).unbind()
    return torch.randn(rows, (heads + 2 * kv_heads) * width), keys, values


@pytest.mark.parametrize(("heads", "kv_heads", "width"), SHAPES)
def test_attention_is_a_softmax_over_the_seen_positions(heads: int, kv_heads: int, width: int) -> None:
    qkv, keys, values = drawn(heads, kv_heads, width)
    for positions in ([0, 17, 79], [15, 16, 14], [31, 7, 8]):
        found = attended(qkv, keys, values, positions, heads)
        assert (found - plain(qkv, keys, values, positions, heads)).abs().max() < 2e-5


def test_positions_after_a_sequence_are_not_read() -> None:
    qkv, keys, values = drawn(4, 2, 64)
    before = attended(qkv, keys, values, [5, 5, 5], 4)
    keys[:, :, 6:], values[:, :, 6:] = torch.nan, torch.nan
    assert torch.equal(attended(qkv, keys, values, [5, 5, 5], 4), before)


def test_neighbours_change_no_bit() -> None:
    qkv, keys, values = drawn(4, 2, 64, rows=9)
    together = attended(qkv, keys, values, [3, 70, 31, 2, 9, 79, 64, 8, 15], 4)
    alone = attended(qkv[1:2].contiguous(), keys[1:2], values[1:2], [70], 4)
    assert torch.equal(together[1:2], alone)


def test_scores_of_any_size_have_a_softmax() -> None:
    qkv, keys, values = drawn(2, 2, 8, rows=2)
    qkv *= 1e4
    found = attended(qkv, keys, values, [60, 79], 2)
    assert (found - plain(qkv, keys, values, [60, 79], 2)).abs().max() < 1e-5


def test_a_nan_is_not_hidden() -> None:
    qkv, keys, values = drawn(2, 2, 8, rows=2)
    qkv[0] = torch.nan
    found = attended(qkv, keys, values, [60, 79], 2)
    assert found[0].isnan().all()
    assert found[1].isfinite().all()
