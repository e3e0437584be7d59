"""Several processes that train one model together: FSDP2 over torch.distributed, gloo on CPUs and NCCL on GPUs.

    group = Group.join("cpu", stall_s=300)      under torchrun, which says who is who

Nothing that is exchanged is unpickled: tensors, and bytes as tensors.
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
"""Seconds for which a rank waits for an order; whoever gives them says at least once a second that it is there."""


class Group(Ranks):
    """One of several ranks; rank 0 says what is done."""

    divided = True

    def __init__(self, mesh: DeviceMesh, device: torch.device, stall_s: float) -> None:
        """Every rank makes it at once: `stall_s` is how long an exchange may take, seconds."""
        self.rank, self.size, self.device = dist.get_rank(), dist.get_world_size(), device
        self._mesh = mesh
        # Apart from the tensors' exchanges, so that a rank that failed amid those can still say so.
        self._words = dist.new_group(backend="gloo", timeout=timedelta(seconds=stall_s))
        # Rank 0 waits as well, until the others take an order: one that hangs before that is lost as any other is.
        patience_s = stall_s if self.rank == 0 else _ORDER_S
        self._orders = dist.new_group(backend="gloo", timeout=timedelta(seconds=patience_s))

    @classmethod
    def join(cls, kind: str, stall_s: float) -> "Group":
        """Meet the other ranks that torchrun started; `kind` is cpu, or cuda for a GPU each."""
        device = torch.device(kind, int(os.environ["LOCAL_RANK"])) if kind == "cuda" else torch.device(kind)
        if kind == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if kind == "cuda" else "gloo", timeout=timedelta(seconds=stall_s))
        return cls(init_device_mesh(kind, (dist.get_world_size(),)), device, stall_s)

    def shard(self, model: nn.Module, layers: Iterable[nn.Module]) -> None:
        """Divide the meta parameters of a model; they lie on this rank's device then, without values."""
        for part in (*layers, model):
            # Let go of after each forward, the root's too: an update would leave what was gathered behind.
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
            dist.all_reduce(summed, group=self._words)
        return summed.numpy()

    def exchanged(self, said: bytes) -> list[bytes]:
        with _lost():
            lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
            dist.all_gather(lengths, torch.tensor([len(said)]), group=self._words)
            longest = max(1, *(int(length) for length in lengths))
            heard = [torch.empty(longest, dtype=torch.uint8) for _ in range(self.size)]
            dist.all_gather(heard, _as_tensor(said.ljust(longest)), group=self._words)
        return [_as_bytes(words)[:int(length)] for words, length in zip(heard, lengths, strict=True)]

    def broke(self, problem: Exception) -> bool:
        return super().broke(problem) or of_exchange(problem)

    def told(self, message: bytes) -> bytes:
        with _lost():
            length = torch.tensor([len(message)])
            dist.broadcast(length, 0, group=self._orders)
            words = _as_tensor(message) if self.rank == 0 else torch.empty(int(length), dtype=torch.uint8)
            dist.broadcast(words, 0, group=self._orders)
        return message if self.rank == 0 else _as_bytes(words)


@contextmanager
def _lost() -> Iterator[None]:
    try:
        yield
    except RuntimeError as problem:  # what torch.distributed raises when a peer is gone or late
        raise RanksLost(str(problem)) from problem


def of_exchange(problem: Exception) -> bool:
    """Tell whether torch says that a peer is gone or late. gloo's errors have no type, but name its source file."""
    return isinstance(problem, dist.DistError) or (isinstance(problem, RuntimeError) and "/gloo/" in str(problem))


def _add_gradients(part: FSDPModule) -> None:
    """Sum the ranks' gradients, not average them: each rank's loss is a share of the step's."""
    part.set_gradient_divide_factor(1.0)
    part.set_force_sum_reduction_for_comms(True)  # gloo knows no sum that scales


def _local(tensor: Tensor) -> Tensor:
    return cast(DTensor, tensor).to_local()


def _as_tensor(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def _as_bytes(tensor: Tensor) -> bytes:
    return tensor.numpy().tobytes()
