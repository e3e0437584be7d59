"""The cache of keys and values: blocks of positions, which slots with equal beginnings share; it grows on demand."""

import numpy as np
import torch
from torch import Tensor

from hone.models.architecture import Architecture
from services.inference.native import kernels
from services.inference.native.attention import BLOCK
from services.inference.native.kernels import Places

CHUNK = 64
"""Positions are allocated in multiples of this. It is the width of a prompt's largest chunk, so that padding fits."""
_ALIGNMENT = 64
_SCRATCH = 0
"""The block of the scratch slot. In another slot's row of the table it means that there is no block yet."""


class Cache:
    """Keys [blocks, kv_heads, head_dim, BLOCK] and values [blocks, kv_heads, BLOCK, head_dim] of each layer.

    `table` [slots + 1, most blocks of a slot] holds the block numbers of each slot. Slots with equal beginnings share
    whole blocks; a block is free again when no slot holds it. The last slot is scratch: the padding rows of a batch
    write there. Memory of blocks that were never written is not touched, so it costs only address space.
    """

    def __init__(self, architecture: Architecture, slots: int, positions: int) -> None:
        self._architecture = architecture
        self.slots, self.scratch, self.positions = slots, slots, 0
        self.table = np.full((slots + 1, 0), _SCRATCH)
        self._holders, self._free = np.zeros(1, np.int64), np.empty(0, np.int64)
        self.keys, self.values = self._allocate(1, -2), self._allocate(1, -1)
        self.reserve(positions)

    def reserve(self, positions: int) -> None:
        """Make room for `positions` positions of each slot. Cached keys and values stay."""
        if positions <= self.positions:
            return
        self.positions, before = rounded(positions, CHUNK), len(self._holders)
        most = self.positions // BLOCK
        blocks = 1 + self.slots * most
        self.table = np.pad(self.table, ((0, 0), (0, most - self.table.shape[1])), constant_values=_SCRATCH)
        self._holders = np.pad(self._holders, (0, blocks - before))
        self._free = np.concatenate([np.arange(blocks - 1, before - 1, -1), self._free])  # used ones are taken first
        self.keys, self.values = self._grow(self.keys, blocks, -2), self._grow(self.values, blocks, -1)

    def begin(self, slots: Places, positions: Places) -> None:
        """Give each of `slots` [S] its own blocks for its first `positions` [S], and release its old blocks."""
        self._release(slots)
        wanted = np.arange(self.table.shape[1]) < (-(-positions // BLOCK))[:, None]
        rows = np.full(wanted.shape, _SCRATCH)
        rows[wanted] = self._take(int(wanted.sum()))
        self.table[slots] = rows

    def extend(self, slots: Places, positions: Places) -> None:
        """Give a block to each of `slots` [S] that has none for its position in `positions` [S]."""
        lacking = (self.blocks_of(slots, positions) == _SCRATCH) & (slots != self.scratch)
        if lacking.any():
            self.table[slots[lacking], positions[lacking] // BLOCK] = self._take(int(lacking.sum()))

    def share(self, sources: Places, targets: Places, positions: Places) -> None:
        """Let slot `targets[s]` begin with the first `positions[s]` positions of slot `sources[s]`, for every s.

        No slot is a source and a target. Both hold the whole blocks; the positions after them are copied.
        """
        if not len(targets):
            return
        self._release(targets)
        whole = positions // BLOCK
        held = np.where(np.arange(self.table.shape[1]) < whole[:, None], self.table[sources], _SCRATCH)
        self.table[targets] = held
        np.add.at(self._holders, held[held != _SCRATCH], 1)
        cut = positions % BLOCK > 0
        old, new = self.table[sources[cut], whole[cut]], self._take(int(cut.sum()))
        self.table[targets[cut], whole[cut]] = new
        for tensor in (*self.keys, *self.values):
            kernels.copy_blocks(tensor.numpy(), old, new)

    def blocks_of(self, slots: Places, positions: Places) -> Places:
        """Return the block [N] that holds position `positions[n]` of slot `slots[n]`, for every n."""
        found: Places = self.table[slots, positions // BLOCK]
        return found

    def keys_and_values(self, layer: int, slots: Places, reach: int) -> tuple[Tensor, Tensor]:
        """Return keys [S · kv_heads, head_dim, reach] and values [S · kv_heads, reach, head_dim] of `slots` [S].

        They are those of the first `reach` positions.
        """
        blocks = torch.from_numpy(self.table[slots, :rounded(reach, BLOCK) // BLOCK])
        lines, width = len(slots) * self._architecture.kv_heads, self._architecture.head_dim
        keys, values = self.keys[layer][blocks], self.values[layer][blocks]
        return (keys.permute(0, 2, 3, 1, 4).reshape(lines, width, -1)[:, :, :reach],
                values.transpose(1, 2).reshape(lines, -1, width)[:, :reach])

    def _take(self, count: int) -> Places:
        """Take `count` free blocks. There are always enough: the cache has as many blocks as all slots can hold."""
        left = len(self._free) - count
        taken, self._free = self._free[left:], self._free[:left]
        self._holders[taken] = 1
        return taken

    def _release(self, slots: Places) -> None:
        """Release the blocks of `slots`, which are all different."""
        held = self.table[slots]
        held = held[held != _SCRATCH]
        np.subtract.at(self._holders, held, 1)
        self._free = np.concatenate([self._free, np.unique(held[self._holders[held] == 0])])
        self.table[slots] = _SCRATCH

    def _grow(self, layers: list[Tensor], blocks: int, width_at: int) -> list[Tensor]:
        grown, used = self._allocate(blocks, width_at), torch.from_numpy(np.flatnonzero(self._holders))
        for old, new in zip(layers, grown, strict=True):
            new[used] = old[used]
        return grown

    def _allocate(self, blocks: int, width_at: int) -> list[Tensor]:
        """Return a tensor for each layer; its dimension `width_at` is the width of a head."""
        block = [BLOCK, BLOCK]
        block[width_at] = self._architecture.head_dim
        shape = (blocks, self._architecture.kv_heads, *block)
        return [_zeros(shape) for _ in range(self._architecture.layers)]


def _zeros(shape: tuple[int, ...]) -> Tensor:
    count, width = int(np.prod(shape)), 4
    raw = np.zeros(count + _ALIGNMENT // width, np.float32)
    start = -raw.ctypes.data % _ALIGNMENT // width
    return torch.from_numpy(raw[start:start + count]).view(shape)


def rounded(number: int, multiple: int) -> int:
    """Return `number` rounded up to a multiple of `multiple`."""
    return -(-number // multiple) * multiple
