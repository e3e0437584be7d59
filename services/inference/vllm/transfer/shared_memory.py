"""Weights through a POSIX shared-memory segment, which workers read whether they are this process or others."""

from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import ClassVar

import torch
from torch import Tensor
from vllm.distributed.weight_transfer.base import TrainerInitInfo, WeightTransferUpdateInfo

from services.inference.vllm.transfer import endpoints

BACKEND = "shm"
_ALIGNMENT = 64


@dataclass
class UpdateInfo(WeightTransferUpdateInfo):
    """Where each tensor lies in the segment: (name, dtype, shape, first byte)."""

    segment: str
    places: list[tuple[str, str, list[int], int]]


class Receiver(endpoints.Worker[UpdateInfo]):
    """A worker's side."""

    update_info_cls = UpdateInfo

    def receive_weights(self, update_info: UpdateInfo) -> None:
        segment = SharedMemory(update_info.segment)
        try:  # copied out: layers keep what they are given until the update is finished
            tensors = [(name, _view(segment, dtype, shape, start).clone())
                       for name, dtype, shape, start in update_info.places]
        finally:
            segment.close()
        self.model.load_weights(tensors)


@dataclass
class SenderInfo(TrainerInitInfo):
    """The sender's side needs nothing but to be the only one."""

    backend: ClassVar[str] = BACKEND


class Sender(endpoints.Sender[SenderInfo]):
    """This process's side."""

    init_info_cls = SenderInfo

    def send_weights(self) -> None:
        tensors = dict(self.source or ())
        places, size = _laid_out(tensors)
        segment = SharedMemory(create=True, size=max(1, size))
        try:
            for name, dtype, shape, start in places:
                _view(segment, dtype, shape, start).copy_(tensors[name])
            self.client.start_weight_update()
            self.client.update_weights({"segment": segment.name, "places": places})
            self.client.finish_weight_update()
        finally:
            segment.close()
            segment.unlink()


def _laid_out(tensors: Mapping[str, Tensor]) -> tuple[list[tuple[str, str, list[int], int]], int]:
    places, start = [], 0
    for name, tensor in tensors.items():
        places.append((name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape), start))
        start += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    return places, start


def _view(segment: SharedMemory, dtype: str, shape: list[int], start: int) -> Tensor:
    kind = getattr(torch, dtype)
    count = torch.Size(shape).numel()
    return torch.frombuffer(segment.buf, dtype=kind, count=count, offset=start).view(shape)
