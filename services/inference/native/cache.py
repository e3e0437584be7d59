"""Keys and values of every slot, allocated once for a number of positions and grown when a sequence needs more."""

import numpy as np
import torch
from torch import Tensor

from hone.models.architecture import Architecture
from services.inference.native import kernels
from services.inference.native.attention import BLOCK
from services.inference.native.kernels import Places

CHUNK = 64
"""Positions are allocated in multiples of this, the width of the largest chunk of a prompt: its padding always fits."""
_ALIGNMENT = 64


class Cache:
    """One tensor of keys a layer, [slots + 1, blocks, kv_heads, head_dim, BLOCK], and one of values, [slots + 1,
    blocks, kv_heads, BLOCK, head_dim].

    The last slot is scratch: rows that only fill a batch up write there. Memory of positions that nobody wrote is
    never touched, so it costs address space alone.
    """

    def __init__(self, architecture: Architecture, slots: int, positions: int) -> None:
        self._architecture = architecture
        self.slots, self.scratch, self.positions = slots, slots, rounded(positions, CHUNK)
        self.keys, self.values = self._allocate(self.positions, -2), self._allocate(self.positions, -1)

    def reserve(self, positions: int) -> None:
        """Make room for `positions` positions of each slot; what is cached stays."""
        if positions <= self.positions:
            return
        whole = rounded(positions, CHUNK)
        self.keys, self.values = self._grown(self.keys, whole, -2), self._grown(self.values, whole, -1)
        self.positions = whole

    def seen(self, layer: int, slots: Tensor, reach: int) -> tuple[Tensor, Tensor]:
        """Return what the first `reach` positions of `slots` [S] hold: keys [S · kv_heads, head_dim, reach], values
        [S · kv_heads, reach, head_dim]."""
        blocks, shape = rounded(reach, BLOCK) // BLOCK, self._architecture
        keys, values = (tensor[layer][slots, :blocks] for tensor in (self.keys, self.values))
        lines = len(slots) * shape.kv_heads
        return (keys.permute(0, 2, 3, 1, 4).reshape(lines, shape.head_dim, -1)[:, :, :reach],
                values.transpose(1, 2).reshape(lines, -1, shape.head_dim)[:, :reach])

    def copy(self, sources: Places, targets: Places, positions: Places) -> None:
        """Copy as many positions as named, in whole blocks, of each of slots `sources` to the slot at its place in
        `targets`, which has nothing behind them."""
        blocks = -(-positions // BLOCK)
        for tensor in (*self.keys, *self.values):
            kernels.copied(tensor.numpy(), sources, targets, blocks)

    def _grown(self, layers: list[Tensor], positions: int, width_at: int) -> list[Tensor]:
        grown = self._allocate(positions, width_at)
        for old, new in zip(layers, grown, strict=True):
            new[:, :old.shape[1]] = old
        return grown

    def _allocate(self, positions: int, width_at: int) -> list[Tensor]:
        """Return a tensor a layer whose dimension `width_at` is the width of a head."""
        block = [BLOCK, BLOCK]
        block[width_at] = self._architecture.head_dim
        shape = (self.slots + 1, positions // BLOCK, self._architecture.kv_heads, *block)
        return [_zeros(shape) for _ in range(self._architecture.layers)]


def _zeros(shape: tuple[int, ...]) -> Tensor:
    count, width = int(np.prod(shape)), 4
    raw = np.zeros(count + _ALIGNMENT // width, np.float32)
    start = -raw.ctypes.data % _ALIGNMENT // width
    return torch.from_numpy(raw[start:start + count]).view(shape)


def rounded(number: int, multiple: int) -> int:
    """Return the smallest multiple of `multiple` that is not below `number`."""
    return -(-number // multiple) * multiple
