"""Which shapes of a forward pass leave every row's bits alone on this machine, printed as JSON.

    python -m benchmarks.probes.bitwise

For single products, attention and softmax: does a row change with its place, its neighbours, the number of rows, or
the number of masked positions behind it? And for whole engine steps of two models: which shapes the engine would use.
"""

import json
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

from benchmarks.machine import describe
from hone.models import toy
from hone.models.checkpoint import Checkpoint
from services.inference.native import safe_shapes

_ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 252, 512, 1024]
_PRODUCTS = [(128, 384), (128, 128), (128, 1024), (512, 128), (128, 32), (256, 512), (256, 2048), (1024, 256)]
_REACHES = [32, 48, 64, 96, 128, 192, 256, 384, 512]
_MODELS: dict[str, dict[str, Any]] = {
    "0.53M": {}, "6.03M": {"hidden": 256, "layers": 6, "kv_heads": 2, "head_dim": 64, "ffn": 1024, "vocab_size": 512},
}


def product(inner: int, columns: int) -> dict[str, object]:
    """Try one matrix product [256, inner] x [inner, columns]."""
    right = torch.randn(inner, columns)
    return rows(lambda left: torch.mm(left, right), torch.randn(256, inner))


def rows(function: Callable[[Tensor], Tensor], left: Tensor) -> dict[str, object]:
    """Say whether rows of `function` depend on their place and neighbours, and which numbers of rows change them."""
    whole, order, other = function(left), torch.randperm(len(left)), left.clone()
    other[1::2] = torch.randn_like(other[1::2])
    return {"any_place": torch.equal(function(left[order]), whole[order]),
            "any_neighbours": torch.equal(function(other)[::2], whole[::2]),
            "rows_that_differ": [count for count in _ROWS if not _equal(function, left, whole, count)]}


def attention(heads: int, groups: int, head_dim: int, seen: int) -> dict[str, object]:
    """Try one query a sequence over `seen` cached positions, looking at more and more masked ones behind them."""
    keys, values = torch.randn(2, 64 * heads, _REACHES[-1], head_dim).unbind()
    queries = torch.randn(64 * heads, groups, head_dim)

    def mixed(reach: int, count: int = 64) -> Tensor:
        bias = torch.zeros(1, 1, reach).masked_fill(torch.arange(reach) >= seen, -torch.inf)
        chosen = slice(0, count * heads)
        scores = torch.baddbmm(bias, queries[chosen], keys[chosen, :reach].transpose(1, 2))
        return torch.bmm(torch.softmax(scores, -1), values[chosen, :reach])

    able = [reach for reach in _REACHES if reach >= seen]
    return {"reaches_that_differ": [reach for reach in able if not torch.equal(mixed(reach), mixed(able[-1]))],
            "rows_that_differ": [count for count in (1, 2, 4, 16, 32)
                                 if not torch.equal(mixed(able[0], count), mixed(able[0])[:count * heads])]}


def steps(sizes: dict[str, Any]) -> dict[str, object]:
    """Say which of the engine's numbers of rows are safe for a model."""
    tried = safe_shapes.candidates(256, 512)
    found = safe_shapes.measure(Checkpoint.from_files(toy.files(**sizes)).architecture, 256, 512)
    return {"rows": found.rows, "rows_refused": sorted({*tried.rows} - {*found.rows})}


def main() -> None:
    """Try everything and print it."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(json.dumps({
        "machine": describe(), "mkl_cbwr": os.environ.get("MKL_CBWR", ""),
        "products": {f"{inner}x{columns}": product(inner, columns) for inner, columns in _PRODUCTS},
        "softmax": rows(lambda left: torch.softmax(left, -1), torch.randn(256, 512)),
        "attention": {f"{heads}x{groups}x{head_dim} over {seen}": attention(heads, groups, head_dim, seen)
                      for heads, groups, head_dim in ((4, 1, 32), (2, 2, 64), (2, 2, 16)) for seen in (11, 200)},
        "steps": {name: steps(sizes) for name, sizes in _MODELS.items()},
    }, indent=1))


def _equal(function: Callable[[Tensor], Tensor], left: Tensor, whole: Tensor, count: int) -> bool:
    if count <= len(left):
        return torch.equal(function(left[-count:].contiguous()), whole[-count:])
    return torch.equal(function(left.repeat(count // len(left), 1))[:len(left)], whole)


if __name__ == "__main__":
    main()
