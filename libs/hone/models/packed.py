"""A decoder that reads micro-batches: what the policy and the critic are made of."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hone.models.adapter import Lora
from hone.models.architecture import Architecture
from hone.models.attention import laid_out
from hone.models.blocks import Decoder, Shared
from hone.models.policy_operators import taken
from hone.models.ranks import Ranks
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Ints

_TILE = 64
"""Tokens come in multiples of it: kernels are made for a shape when it first comes, and so few shapes come."""


class PackedDecoder(nn.Module):
    """A decoder's parameters, without values at first, and how it reads the tokens of a micro-batch."""

    def __init__(self, architecture: Architecture, lora: Lora | None, ranks: Ranks) -> None:
        super().__init__()
        self.architecture, self._device = architecture, ranks.device
        self.model = Decoder(architecture, lora)

    def _fill(self, tensors: Mapping[str, Tensor], ranks: Ranks) -> None:
        for name, tensor in tensors.items():
            place, leaf = name.rsplit(".", 1)
            ranks.fill(self.get_submodule(place), leaf, tensor)

    def _predicting(self, batch: MicroBatch, adapted: bool, places: Ints | slice = slice(None)) -> Tensor:
        """Return the state that predicts each trained token at `places`, [M, hidden], filled up to whole tiles."""
        ids, which = np.unique(np.pad(batch.ids, (0, -len(batch.ids) % _TILE)), return_inverse=True)
        wanted, of_each = np.unique(batch.predicting[places], return_inverse=True)
        states: Tensor = self.model(
            self._tiled(ids), self._tensor(which), self._tiled(wanted), self._shared(batch, adapted))
        return taken(states, self._tiled(of_each))

    def _shared(self, batch: MicroBatch, adapted: bool) -> Shared:
        size = self.architecture.head_dim
        exponents = torch.arange(0, size, 2, dtype=torch.int64, device=self._device).float() / size
        angles = self._tiled(batch.positions).float()[:, None] * (1.0 / self.architecture.rope_theta**exponents)
        layout = laid_out(batch.spans, batch.behind, len(angles), self._device)
        return Shared(angles.cos(), angles.sin(), layout, adapted)

    def _tiled(self, array: Ints) -> Tensor:
        """Return an array of a micro-batch filled up with zeros: places and tokens that are real and read by nobody."""
        return self._tensor(np.pad(array, [(0, -len(array) % _TILE), *[(0, 0)] * (array.ndim - 1)]))

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(array).to(self._device)
