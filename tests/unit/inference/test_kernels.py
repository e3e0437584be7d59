"""What lies between the engine's products, against the same thing said in tensor operations."""

import numpy as np
import pytest
import torch
from torch import Tensor

from services.inference.native import kernels

SHAPES = [(4, 2, 64), (4, 4, 32), (8, 1, 16), (2, 2, 8), (6, 2, 128)]
EPSILON = np.float32(1e-6)


def attended(qkv: Tensor, keys: Tensor, values: Tensor, positions: list[int], heads: int) -> Tensor:
    _, kv_heads, _, width = keys.shape
    mixed = torch.empty(len(qkv), heads * width)
    kernels.attention(heads, kv_heads, width)(
        qkv.numpy(), keys.numpy(), values.numpy(), np.arange(len(positions)), np.array(positions), mixed.numpy())
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
def test_attention_is_a_softmax_over_what_is_seen(heads: int, kv_heads: int, width: int) -> None:
    qkv, keys, values = drawn(heads, kv_heads, width)
    found = attended(qkv, keys, values, [0, 17, 79], heads)
    assert (found - plain(qkv, keys, values, [0, 17, 79], heads)).abs().max() < 2e-5


def test_nothing_behind_a_sequence_is_read() -> None:
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


def test_what_is_not_a_number_is_not_hidden() -> None:
    qkv, keys, values = drawn(2, 2, 8, rows=2)
    qkv[0] = torch.nan
    found = attended(qkv, keys, values, [60, 79], 2)
    assert found[0].isnan().all()
    assert found[1].isfinite().all()


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize(("heads", "kv_heads", "width"), SHAPES)
def test_queries_and_keys_are_normed_and_rotated_and_values_kept(
    heads: int, kv_heads: int, width: int, normed: bool
) -> None:
    qkv, keys, values = drawn(heads, kv_heads, width)
    norm = torch.rand(heads + kv_heads if normed else 0, width)
    angles = torch.randn(80, width // 2)
    positions, slots = [0, 17, 79], [2, 0, 1]
    wanted = qkv.view(3, -1, width).double()
    turned = wanted[:, :heads + kv_heads]
    if normed:
        turned = torch.nn.functional.rms_norm(turned, (width,), eps=1e-6) * norm
    left, right = turned.chunk(2, -1)
    cosines, sines = (function(angles[positions].double())[:, None] for function in (torch.cos, torch.sin))
    turned = torch.cat([left * cosines - right * sines, right * cosines + left * sines], -1)
    kernels.placed(qkv.numpy(), norm.numpy(), torch.stack([angles.cos(), angles.sin()]).numpy(), np.array(slots),
                   np.array(positions), EPSILON, keys.numpy(), values.numpy())
    assert (qkv[:, :heads * width].view(3, heads, width) - turned[:, :heads]).abs().max() < 1e-5
    assert (keys[slots, :, positions] - turned[:, heads:]).abs().max() < 1e-5
    assert torch.equal(values[slots, :, positions], wanted[:, heads + kv_heads:].float())


@pytest.mark.parametrize("width", [1, 16, 100, 256])
def test_a_row_is_divided_by_the_root_of_its_mean_square(width: int) -> None:
    rows = torch.randn(5, width)
    out = torch.empty_like(rows)
    kernels.normed(rows.numpy(), EPSILON, out.numpy())
    assert torch.allclose(out, torch.nn.functional.rms_norm(rows, (width,), eps=1e-6), atol=1e-6)
