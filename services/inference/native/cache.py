"""Keys and values of every slot, allocated once for a number of positions and grown when a sequence needs more."""

import numpy as np
import torch
from torch import Tensor

from hone.models.architecture import Architecture
from services.inference.native import kernels
from services.inference.native.kernels import Places

CHUNK = 64
"""Positions are allocated in multiples of this, the width of the largest chunk of a prompt: its padding always fits."""
_ALIGNMENT = 64


class Cache:
    """Keys and values, one tensor [slots + 1, kv_heads, positions, head_dim] a layer.

    The last slot is scratch: rows that only fill a batch up write there. Memory of positions that nobody wrote is
    never touched, so it costs address space alone.
    """

    def __init__(self, architecture: Architecture, slots: int, positions: int) -> None:
        self._architecture = architecture
        self.slots, self.scratch, self.positions = slots, slots, rounded(positions, CHUNK)
        self.keys, self.values = self._allocate(self.positions), self._allocate(self.positions)

    def reserve(self, positions: int) -> None:
        """Make room for `positions` positions of each slot; what is cached stays."""
        if positions <= self.positions:
            return
        whole = rounded(positions, CHUNK)
        self.keys, self.values = self._grown(self.keys, whole), self._grown(self.values, whole)
        self.positions = whole

    def _grown(self, layers: list[Tensor], positions: int) -> list[Tensor]:
        grown = self._allocate(positions)
        for old, new in zip(layers, grown, strict=True):
            new[:, :, :self.positions] = old
        return grown

    def copy(self, sources: Places, targets: Places, positions: Places) -> None:
        """Copy as many positions as named of each of slots `sources` to the slot at its place in `targets`."""
        for tensor in (*self.keys, *self.values):
            kernels.copied(tensor.numpy(), sources, targets, positions)

    def _allocate(self, positions: int) -> list[Tensor]:
        return [self._zeros(positions) for _ in range(self._architecture.layers)]

    def _zeros(self, positions: int) -> Tensor:
        shape = (self.slots + 1, self._architecture.kv_heads, positions, self._architecture.head_dim)
        count, width = int(np.prod(shape)), 4
        raw = np.zeros(count + _ALIGNMENT // width, np.float32)
        start = -raw.ctypes.data % _ALIGNMENT // width
        return torch.from_numpy(raw[start:start + count]).view(shape)


def rounded(number: int, multiple: int) -> int:
    """Return the smallest multiple of `multiple` that is not below `number`."""
    return -(-number // multiple) * multiple
