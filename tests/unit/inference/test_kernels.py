"""The compiled steps between the engine's products, compared with tensor operations."""

import numpy as np
import pytest
import torch

from services.inference.native import kernels
from services.inference.native.attention import BLOCK
from tests.support.inference.attention import SHAPES

EPSILON = np.float32(1e-6)


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize(("heads", "kv_heads", "width"), SHAPES)
def test_queries_and_keys_are_normed_and_rotated_and_values_kept(
    heads: int, kv_heads: int, width: int, normed: bool
) -> None:
    torch.manual_seed(0)
    qkv = torch.randn(3, (heads + 2 * kv_heads) * width)
    keys, values = torch.zeros(9, kv_heads, width, BLOCK), torch.zeros(9, kv_heads, BLOCK, width)
    norm = torch.rand(heads + kv_heads if normed else 0, width)
    angles = torch.randn(80, width // 2)
    positions, blocks = [0, 17, 79], [2, 8, 1]
    wanted = qkv.view(3, -1, width).double()
    turned = wanted[:, :heads + kv_heads]
    if normed:
        turned = torch.nn.functional.rms_norm(turned, (width,), eps=1e-6) * norm
    left, right = turned.chunk(2, -1)
    cosines, sines = (function(angles[positions].double())[:, None] for function in (torch.cos, torch.sin))
    turned = torch.cat([left * cosines - right * sines, right * cosines + left * sines], -1)
    kernels.cache_rows(qkv.numpy(), norm.numpy(), torch.stack([angles.cos(), angles.sin()]).numpy(), np.array(blocks),
                   np.array(positions), EPSILON, keys.numpy(), values.numpy())
    assert (qkv[:, :heads * width].view(3, heads, width) - turned[:, :heads]).abs().max() < 1e-5
    columns = [position % BLOCK for position in positions]
    assert (keys[blocks, :, :, columns] - turned[:, heads:]).abs().max() < 1e-5
    assert torch.equal(values[blocks, :, columns], wanted[:, heads + kv_heads:].float())
    assert keys.count_nonzero() == values.count_nonzero() == 3 * kv_heads * width


@pytest.mark.parametrize("width", [1, 16, 100, 256])
def test_a_row_is_divided_by_the_root_of_its_mean_square(width: int) -> None:
    rows = torch.randn(5, width)
    out = torch.empty_like(rows)
    kernels.normalize(rows.numpy(), EPSILON, out.numpy())
    assert torch.allclose(out, torch.nn.functional.rms_norm(rows, (width,), eps=1e-6), atol=1e-6)


def test_blocks_are_copied_and_none_else() -> None:
    entries = torch.randn(5, 2, 3, BLOCK)
    before = entries.clone()
    kernels.copy_blocks(entries.numpy(), np.array([0, 4]), np.array([2, 1]))
    assert torch.equal(entries, before[[0, 4, 0, 3, 4]])
