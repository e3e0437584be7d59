"""The numbers of rows that a forward pass may have: each gives every row the same bits, measured on this machine.

Promise 7: the same request in any slot with any neighbours gives equal ids and log-prob bits. Matrix kernels choose
their order of additions by shape. So each number of rows is compared once with the largest, on a block of random
weights; the order of additions does not depend on the numbers. A result that is rounded to bfloat16 seldom shows in
what order it was added up. So each product is also compared alone, on numbers whose sum consists of rounding errors
only. A number of rows with different bits is not used: the engine pads to the next larger safe number, in the worst
case to the largest.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hone.models.architecture import Architecture
from services.inference.native.cache import CHUNK, Cache, rounded
from services.inference.native.decoder import Decoder, one_token
from services.inference.native.matrix import Matrix
from services.inference.native.sampler import DrawSettings, sample
from services.inference.native.weights import VOCABULARY_MULTIPLE, Layer, Weights

ROWS = 16
"""Large row counts are multiples of this, so that they fill whole vectors."""
ALONE = (1, 2, 4)
"""Row counts for a single conversation and for the last sequences of a batch."""
FEW_ROWS = 8
"""Row counts up to `_FINE_ROWS` are multiples of this, so that a batch wastes little when sequences end."""
_FINE_ROWS = 128


@dataclass(frozen=True)
class SafeShapes:
    """Safe numbers of rows, ascending up to the engine's largest, and the most positions of a sequence."""

    rows: tuple[int, ...]
    positions: int

    def rows_for(self, count: int) -> int:
        """Return the smallest safe number of rows that holds `count` sequences."""
        return self.rows[bisect_left(self.rows, count)]


def candidates(slots: int, positions: int) -> SafeShapes:
    """Return the numbers of rows to try for an engine with `slots` slots and `positions` positions."""
    most = max(CHUNK, rounded(slots, ROWS))
    counts = (count for count in range(FEW_ROWS, most + 1, FEW_ROWS) if count <= _FINE_ROWS or count % ROWS == 0)
    return SafeShapes((*ALONE, *counts), rounded(positions, CHUNK))


def measure(
    architecture: Architecture, slots: int, positions: int, dtype: torch.dtype = torch.float32
) -> SafeShapes:
    """Return the numbers of rows that give equal bits on this machine, with the present number of threads."""
    tried = candidates(slots, positions)
    block = replace(architecture, layers=1)
    with torch.inference_mode(), torch.random.fork_rng():
        torch.manual_seed(0)
        steady = _steady_rows(block, dtype, tried.rows)
        decoder = Decoder(block, CHUNK)
        decoder.install(_random(block, dtype))
        return replace(tried, rows=_safe_rows(decoder, block, steady))


def _steady_rows(block: Architecture, dtype: torch.dtype, tried: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of rows whose products are added up in the same order as those of the largest number."""
    for into, out in ((block.hidden, block.queries + 2 * block.keys), (block.queries, block.hidden),
                      (block.hidden, block.ffn), (block.ffn, block.hidden)):
        rows, weight = _cancelling(tried[-1], into, out)
        matrix = Matrix(weight, None, dtype)
        whole = matrix.times(rows)
        tried = tuple(count for count in tried if torch.equal(matrix.times(rows[:count]), whole[:count]))
    return tried


def _cancelling(rows: int, into: int, out: int) -> tuple[Tensor, Tensor]:
    """Return rows [rows, into] and a weight [out, into], exact in bfloat16, whose exact products are zero.

    The second half of each sum subtracts the first half in another order. Terms have very different sizes.
    """
    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape).mul(torch.randint(-8, 8, shape).float().exp2()).bfloat16().float()

    left, right, order = drawn(rows, into // 2), drawn(out, into // 2), torch.randperm(into // 2)
    rest = torch.zeros(max(rows, out), into % 2)
    return (torch.cat([left, left[:, order], rest[:rows]], 1), torch.cat([right, -right[:, order], rest[:out]], 1))


def _safe_rows(decoder: Decoder, block: Architecture, tried: tuple[int, ...]) -> tuple[int, ...]:
    most = tried[-1]
    cache = _filled(block, most)
    positions = torch.randint(1, CHUNK, (most,)).numpy()
    ids = torch.randint(0, block.vocab_size, (most,))

    def run(rows: int) -> Tensor:
        logits = decoder.logits(decoder.hidden(cache, ids[:rows], one_token(cache, np.arange(rows), positions[:rows])))
        drawn, logp = sample(logits, np.arange(rows), np.full(rows, 0.5, np.float32), DrawSettings.plain(rows))
        return torch.cat([logits[:, :block.vocab_size], torch.from_numpy(np.stack([drawn, logp], 1)).float()], 1)

    whole = run(most)
    return (*(rows for rows in tried[:-1] if torch.equal(run(rows), whole[:rows])), most)


def _filled(block: Architecture, slots: int) -> Cache:
    cache = Cache(block, slots, CHUNK)
    cache.begin(np.arange(slots), np.full(slots, CHUNK))
    for tensor in (*cache.keys, *cache.values):
        tensor.normal_()
    return cache


def _random(block: Architecture, dtype: torch.dtype) -> Weights:
    def normal(rows: int, columns: int, bias: bool = False, dtype: torch.dtype = dtype) -> Matrix:
        weight = torch.randn(columns, rows).mul_(rows ** -0.5)
        return Matrix(weight, torch.randn(columns) if bias else None, dtype)

    head_norm = torch.rand(block.heads + block.kv_heads if block.qk_norm else 0, block.head_dim).numpy()
    layer = Layer(
        qkv=normal(block.hidden, block.queries + 2 * block.keys, block.qkv_bias), head_norm=head_norm,
        out=normal(block.queries, block.hidden), gate=normal(block.hidden, block.ffn),
        up=normal(block.hidden, block.ffn), down=normal(block.ffn, block.hidden),
    )
    padded = rounded(block.vocab_size, VOCABULARY_MULTIPLE)
    logits = normal(block.hidden, padded, bias=True, dtype=torch.float32)
    return Weights(torch.randn(block.vocab_size, block.hidden), [layer], None, logits)
