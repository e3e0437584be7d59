"""The processes that train one model together, as one of them sees them; here: the one that is alone.

    ALONE                       every tensor is whole, every exchange is with oneself
    hone.models.group.Group     several processes, each with its shard of every tensor

A model is divided by its first dimension: rank r of R holds the r-th of R parts of every tensor.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from hone.trajectory.packing import Floats


class RanksLost(RuntimeError):
    """Some rank died, hung, or did something else than the others: all of them have to start again."""


class Ranks:
    """One process alone. Each method but `told` is called by every rank at the same place."""

    rank = 0
    size = 1
    divided = False  # whether the tensors of a model are; then one thread computes at a time
    device = torch.device("cpu")

    def shard(self, model: nn.Module, layers: Iterable[nn.Module]) -> None:
        """Divide the meta parameters of a model, gathered one layer at a time as it computes."""

    def fill(self, module: nn.Module, leaf: str, tensor: Tensor) -> None:
        """Give a module's parameter its values as float32: a copy where it trains, else shared where possible."""
        trains = getattr(module, leaf).requires_grad
        values = tensor.detach().to(self.device, torch.float32, copy=trains)
        setattr(module, leaf, nn.Parameter(values, requires_grad=trains))

    def spread(self, tensor: Tensor, like: Tensor) -> Tensor:
        """Return a whole tensor divided as the parameter `like` is; only rank 0's values count."""
        return tensor.to(like.device)

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return divided tensors as whole ones on rank 0, and nothing elsewhere."""
        return dict(tensors)

    def single(self, scalar: Tensor) -> Tensor:
        """Return a figure of divided tensors, such as their norm, as a plain tensor of no dimension."""
        return scalar

    def sum(self, values: Floats) -> Floats:
        """Return the sum over ranks of arrays of one shape."""
        return values

    def exchanged(self, said: bytes) -> list[bytes]:
        """Return what every rank says, by rank. Raises RanksLost."""
        return [said]

    def broke(self, problem: Exception) -> bool:
        """Tell whether a problem is that of an exchange between ranks, not of what they compute."""
        return isinstance(problem, RanksLost)

    def told(self, message: bytes) -> bytes:
        """Return rank 0's message, for which the others wait. Raises RanksLost."""
        return message


ALONE = Ranks()
