"""Several processes that train one model together: FSDP2 over torch.distributed, gloo on CPUs and NCCL on GPUs.

    ranks = DistributedRanks.join("cpu", stall_s=300)      under torchrun, which numbers the processes

Nothing that is exchanged is pickled: there are tensors, and bytes as tensors.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from hone.models.ranks import Ranks, RanksLost
from hone.trajectory.packing import Floats

_ORDER_S = 1800.0
"""Seconds for which a rank waits for an order. Rank 0 reports at least once a second that it is alive."""


class DistributedRanks(Ranks):
    """One of several ranks. Rank 0 gives the orders."""

    divided = True

    def __init__(self, mesh: DeviceMesh, device: torch.device, stall_s: float) -> None:
        """All ranks construct it at the same time. An exchange may take `stall_s` seconds."""
        self.rank, self.size, self.device = dist.get_rank(), dist.get_world_size(), device
        self._mesh = mesh
        # Separate from the exchanges of tensors: a rank that fails during one of them can still report it.
        self._messages = dist.new_group(backend="gloo", timeout=timedelta(seconds=stall_s))
        # Rank 0 also waits until the others have taken an order, so that a rank which hangs before that is found.
        wait_s = stall_s if self.rank == 0 else _ORDER_S
        self._orders = dist.new_group(backend="gloo", timeout=timedelta(seconds=wait_s))

    @classmethod
    def join(cls, kind: str, stall_s: float) -> "DistributedRanks":
        """Meet the other ranks that torchrun started. `kind` is cpu, or cuda with one GPU for each rank."""
        device = torch.device(kind, int(os.environ["LOCAL_RANK"])) if kind == "cuda" else torch.device(kind)
        if kind == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if kind == "cuda" else "gloo", timeout=timedelta(seconds=stall_s))
        return cls(init_device_mesh(kind, (dist.get_world_size(),)), device, stall_s)

    def shard(self, model: nn.Module, layers: Iterable[nn.Module]) -> None:
        """Divide the meta parameters of a model. After it they are on this rank's device, without values."""
        for part in (*layers, model):
            # The root is resharded after each forward too: an update would not reach gathered copies.
            fully_shard(part, mesh=self._mesh, reshard_after_forward=True)
            _add_gradients(cast(FSDPModule, part))
        model.to_empty(device=self.device)

    def fill(self, module: nn.Module, leaf: str, tensor: Tensor) -> None:
        parameter = getattr(module, leaf)
        with torch.no_grad():
            _local(parameter).copy_(_local(self.spread(tensor, parameter)))

    def spread(self, tensor: Tensor, like: Tensor) -> Tensor:
        if isinstance(tensor, DTensor):
            return tensor
        if self.rank:
            tensor = torch.empty(like.shape)
        return distribute_tensor(tensor.detach().to(self.device, torch.float32), self._mesh, [Shard(0)])

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        kept = {}
        for name, tensor in tensors.items():
            full = cast(DTensor, tensor.detach()).full_tensor()
            if self.rank == 0:
                kept[name] = full.cpu()
        return kept

    def single(self, scalar: Tensor) -> Tensor:
        return cast(DTensor, scalar).full_tensor()

    def sum(self, values: Floats) -> Floats:
        summed = torch.from_numpy(values.copy())
        with _lost():
            dist.all_reduce(summed, group=self._messages)
        return summed.numpy()

    def all_gather(self, message: bytes) -> list[bytes]:
        with _lost():
            lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
            dist.all_gather(lengths, torch.tensor([len(message)]), group=self._messages)
            longest = max(1, *(int(length) for length in lengths))
            received = [torch.empty(longest, dtype=torch.uint8) for _ in range(self.size)]
            dist.all_gather(received, _as_tensor(message.ljust(longest)), group=self._messages)
        return [_as_bytes(data)[:int(length)] for data, length in zip(received, lengths, strict=True)]

    def is_lost(self, problem: Exception) -> bool:
        return super().is_lost(problem) or is_exchange_error(problem)

    def broadcast(self, message: bytes) -> bytes:
        with _lost():
            length = torch.tensor([len(message)])
            dist.broadcast(length, 0, group=self._orders)
            data = _as_tensor(message) if self.rank == 0 else torch.empty(int(length), dtype=torch.uint8)
            dist.broadcast(data, 0, group=self._orders)
        return message if self.rank == 0 else _as_bytes(data)


@contextmanager
def _lost() -> Iterator[None]:
    try:
        yield
    except RuntimeError as problem:  # what torch.distributed raises when a peer is gone or late
        raise RanksLost(str(problem)) from problem


def is_exchange_error(problem: Exception) -> bool:
    """Return whether torch reports a peer that is gone or late. gloo's errors have no type, but name its source."""
    return isinstance(problem, dist.DistError) or (isinstance(problem, RuntimeError) and "/gloo/" in str(problem))


def _add_gradients(part: FSDPModule) -> None:
    """Sum the ranks' gradients instead of averaging them: each rank's loss is a share of the step's loss."""
    part.set_gradient_divide_factor(1.0)
    part.set_force_sum_reduction_for_comms(True)  # gloo knows no sum that scales


def _local(tensor: Tensor) -> Tensor:
    return cast(DTensor, tensor).to_local()


def _as_tensor(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def _as_bytes(tensor: Tensor) -> bytes:
    return tensor.numpy().tobytes()
