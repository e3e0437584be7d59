"""The processes that train one model together, as one of them sees them. Here is the process that trains alone.

    ALONE                                              one process: every tensor is whole
    hone.models.distributed_ranks.DistributedRanks     several processes: each holds its shard of every tensor

A tensor is divided along its first dimension: rank r of R holds the r-th of R parts.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from hone.trajectory.packing import Floats


class RanksLost(RuntimeError):
    """A rank died, hung, or did something else than the others. All ranks have to start again."""


class Ranks:
    """One process alone. All ranks call each method but `broadcast` at the same place in their work."""

    rank = 0
    size = 1
    divided = False  # whether a model's tensors are divided; then one thread computes at a time
    device = torch.device("cpu")

    def shard(self, model: nn.Module, layers: Iterable[nn.Module]) -> None:
        """Divide the meta parameters of a model. Each layer is gathered only while it computes."""

    def fill(self, module: nn.Module, leaf: str, tensor: Tensor) -> None:
        """Set a module's parameter to a tensor as float32: a copy if it is trained, otherwise shared if possible."""
        trains = getattr(module, leaf).requires_grad
        values = tensor.detach().to(self.device, torch.float32, copy=trains)
        setattr(module, leaf, nn.Parameter(values, requires_grad=trains))

    def spread(self, tensor: Tensor, like: Tensor) -> Tensor:
        """Return a whole tensor divided as the parameter `like` is. The values are those of rank 0."""
        return tensor.to(like.device)

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return divided tensors as whole ones on rank 0, and nothing on other ranks."""
        return dict(tensors)

    def single(self, scalar: Tensor) -> Tensor:
        """Return a scalar of divided tensors, such as their norm, as a plain tensor of no dimension."""
        return scalar

    def sum(self, values: Floats) -> Floats:
        """Return the sum of the ranks' arrays, which have one shape."""
        return values

    def all_gather(self, message: bytes) -> list[bytes]:
        """Return the messages of all ranks, in their order. Raises RanksLost."""
        return [message]

    def broadcast(self, message: bytes) -> bytes:
        """Return rank 0's message; the other ranks wait for it. Raises RanksLost."""
        return message

    def is_lost(self, problem: Exception) -> bool:
        """Return whether an error comes from an exchange between ranks, not from a rank's own work."""
        return isinstance(problem, RanksLost)


ALONE = Ranks()
