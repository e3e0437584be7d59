"""Which shapes a pass may have without changing a bit of any row, found by trying them on this machine.

Promise 7: the same request in any slot with any neighbours gives equal ids and log-prob bits. Matrix kernels choose
their order of additions by shape, so each number of rows and each reach is compared with the largest once, on a
block of random weights (the order of additions does not depend on the numbers). What differs is not used: the
engine then always runs the next larger shape that is safe, in the worst case the one largest.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hone.models.architecture import Architecture
from services.inference.native.cache import Cache
from services.inference.native.decoder import Decoder, Pass
from services.inference.native.matrix import Matrix
from services.inference.native.sampler import Settings, sample
from services.inference.native.weights import VOCABULARY_MULTIPLE, Layer, Weights

ROWS = 16
"""Large row counts are multiples of this: whole vectors, whatever the width."""
ALONE = (1, 2, 4)
"""Row counts for a conversation and for the last stragglers of a batch."""
FEW_ROWS = 8
"""Row counts up to `_FINE_ROWS` are multiples of this, so that a thinning batch wastes little."""
_FINE_ROWS = 128
SHORTEST_REACH = 16
LARGEST_CHUNK = 64
"""Rows that one chunk of a long context needs."""


@dataclass(frozen=True)
class Ladder:
    """Safe numbers of rows and safe reaches, ascending; the last of each is the engine's largest."""

    rows: tuple[int, ...]
    reaches: tuple[int, ...]

    def rows_for(self, count: int) -> int:
        """Return the smallest safe number of rows that holds `count` sequences."""
        return self.rows[bisect_left(self.rows, count)]

    def reach_for(self, positions: int) -> int:
        """Return the smallest safe reach that holds `positions` positions."""
        return self.reaches[bisect_left(self.reaches, positions)]


def candidates(slots: int, positions: int) -> Ladder:
    """Return every shape worth trying for an engine of `slots` slots and `positions` positions."""
    rows = max(LARGEST_CHUNK, _rounded(slots, ROWS))
    reaches = [*range(SHORTEST_REACH, 129, 16), *range(160, 257, 32), *range(320, 1025, 64)]
    longest = max(SHORTEST_REACH, _rounded(positions, ROWS))
    reaches += list(range(2048, longest, 1024))
    shorter = (reach for reach in reaches if reach < longest)
    counts = (count for count in range(FEW_ROWS, rows + 1, FEW_ROWS) if count <= _FINE_ROWS or count % ROWS == 0)
    return Ladder((*ALONE, *counts), (*shorter, longest))


def measure(architecture: Architecture, slots: int, positions: int) -> Ladder:
    """Return the shapes that give rows equal to the bit on this machine, with this number of threads."""
    tried = candidates(slots, positions)
    block = replace(architecture, layers=1)
    with torch.inference_mode(), torch.random.fork_rng():
        torch.manual_seed(0)
        decoder = Decoder(block, _random(block), tried.reaches[-1])
        return Ladder(_safe_rows(decoder, block, tried), _safe_reaches(decoder, block, tried))


def _safe_rows(decoder: Decoder, block: Architecture, tried: Ladder) -> tuple[int, ...]:
    most = tried.rows[-1]
    cache = _filled(block, most, tried.reaches[0])
    positions = torch.randint(1, tried.reaches[0], (most, 1))
    ids = torch.randint(0, block.vocab_size, (most,))

    def run(rows: int) -> Tensor:
        step = decoder.plan(cache, positions[:rows], None, tried.reaches[0])
        return _answer(decoder, cache, ids[:rows], step)

    whole = run(most)
    safe = (rows for rows in tried.rows[:-1] if torch.equal(run(rows), whole[:rows]))
    return (*safe, most)


def _safe_reaches(decoder: Decoder, block: Architecture, tried: Ladder) -> tuple[int, ...]:
    cache = _filled(block, ROWS, tried.reaches[-1])
    ids = torch.randint(0, block.vocab_size, (ROWS,))

    def equal(reach: int) -> bool:
        positions = torch.linspace(1, reach - 1, ROWS).long()[:, None]
        short, long = (decoder.plan(cache, positions, None, looked) for looked in (reach, tried.reaches[-1]))
        return torch.equal(_answer(decoder, cache, ids, short), _answer(decoder, cache, ids, long))

    return (*(reach for reach in tried.reaches[:-1] if equal(reach)), tried.reaches[-1])


def _answer(decoder: Decoder, cache: Cache, ids: Tensor, step: Pass) -> Tensor:
    logits = decoder.logits(decoder.hidden(cache, ids, step))
    settings = Settings.plain(len(ids))
    drawn, logp = sample(logits, torch.full((len(ids),), 0.5), settings)
    return torch.cat([logits[:, :decoder.architecture.vocab_size], drawn[:, None].float(), logp[:, None]], 1)


def _filled(block: Architecture, slots: int, positions: int) -> Cache:
    cache = Cache(block, slots, positions)
    for tensor in (*cache.keys, *cache.values):
        tensor.normal_()
    return cache


def _random(block: Architecture) -> Weights:
    def normal(rows: int, columns: int, bias: bool = False) -> Matrix:
        weight = torch.randn(columns, rows).mul_(rows ** -0.5)
        return Matrix(weight, torch.randn(columns) if bias else None)

    layer = Layer(
        qkv=normal(block.hidden, block.queries + 2 * block.keys, block.qkv_bias),
        head_norm=torch.rand(block.heads + block.kv_heads, block.head_dim) if block.qk_norm else None,
        out=normal(block.queries, block.hidden), gate=normal(block.hidden, block.ffn),
        up=normal(block.hidden, block.ffn), down=normal(block.ffn, block.hidden),
    )
    padded = _rounded(block.vocab_size, VOCABULARY_MULTIPLE)
    return Weights(torch.randn(block.vocab_size, block.hidden), [layer], normal(block.hidden, padded, bias=True))


def _rounded(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
