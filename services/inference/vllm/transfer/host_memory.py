"""Weights through host memory, which needs no GPU: a shared-memory segment, or the tensors themselves.

`SHARED_MEMORY` is a POSIX segment that every worker reads, in this process or in another. `IN_PROCESS` gives the
tensors to the one worker that is this process. That worker needs a way of its own: a process cannot open a CUDA handle
that it made itself, and NCCL takes one rank for each GPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor
from vllm.distributed.weight_transfer.base import (
    TrainerInitInfo,
    TrainerWeightTransferEngine,
    VLLMWeightSyncClient,
    WeightSource,
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

SHARED_MEMORY, IN_PROCESS = "shm", "in_process"
"""vLLM's names of the two ways."""
_ALIGNMENT = 64
Info = TypeVar("Info", bound=TrainerInitInfo)
Update = TypeVar("Update", bound=WeightTransferUpdateInfo)


@dataclass
class NoInitInfo(WeightTransferInitInfo):
    """Empty: sender and worker agree on nothing before an update."""


class HostMemoryReceiver(WeightTransferEngine[NoInitInfo, Update]):
    """The worker's side of both ways: it reloads its model layer by layer and keeps nothing afterwards."""

    init_info_cls = NoInitInfo

    def init_transfer_engine(self, init_info: NoInitInfo) -> None:
        """Do nothing: nothing is kept between updates."""

    def start_weight_update(self) -> None:
        initialize_layerwise_reload(self.model)

    def finish_weight_update(self) -> None:
        finalize_layerwise_reload(self.model, self.model_config)
        repack_tied_head(self.model, self.model_config)

    def shutdown(self) -> None:
        """Do nothing: nothing is kept between updates."""


class HostMemorySender(TrainerWeightTransferEngine[Info]):
    """This process's side of both ways. It is the only sender."""

    @classmethod
    def trainer_init(
        cls, init_info: Info, *, client: VLLMWeightSyncClient, source: WeightSource | None = None
    ) -> Self:
        made = cls(client=client, source=source, is_sender=init_info.is_sender)
        client.init_weight_transfer_engine({})
        return made


def repack_tied_head(model: Any, config: Any) -> None:
    """Let a tied output projection use the new embedding: on a CPU it multiplies by a packed copy of the old one."""
    tied = getattr(config.hf_text_config, "tie_word_embeddings", False)
    if tied and next(model.parameters()).device.type == "cpu":
        dispatch_cpu_unquantized_gemm(model.lm_head, remove_weight=False)


@dataclass
class SharedMemoryUpdate(WeightTransferUpdateInfo):
    """Where each tensor is in the segment: (name, dtype, shape, first byte)."""

    segment: str
    places: list[tuple[str, str, list[int], int]]


class SharedMemoryReceiver(HostMemoryReceiver[SharedMemoryUpdate]):
    """Copies the tensors out of the segment."""

    update_info_cls = SharedMemoryUpdate

    def receive_weights(self, update_info: SharedMemoryUpdate) -> None:
        segment = SharedMemory(update_info.segment)
        try:  # copied: layers keep the tensors they get until the update is finished
            tensors = [(name, _view(segment, dtype, shape, start).clone())
                       for name, dtype, shape, start in update_info.places]
        finally:
            segment.close()
        self.model.load_weights(tensors)


@dataclass
class SharedMemoryInfo(TrainerInitInfo):
    """Settings of a `SharedMemorySender`: none."""

    backend: ClassVar[str] = SHARED_MEMORY


class SharedMemorySender(HostMemorySender[SharedMemoryInfo]):
    """Writes all tensors to a new segment, which exists until every worker has read it."""

    init_info_cls = SharedMemoryInfo

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


@dataclass
class InProcessUpdate(WeightTransferUpdateInfo):
    """Every tensor by name."""

    tensors: list[tuple[str, Tensor]]


class InProcessReceiver(HostMemoryReceiver[InProcessUpdate]):
    """Loads the sender's own tensors."""

    update_info_cls = InProcessUpdate

    def receive_weights(self, update_info: InProcessUpdate) -> None:
        self.model.load_weights(update_info.tensors)


@dataclass
class InProcessInfo(TrainerInitInfo):
    """Settings of an `InProcessSender`: none."""

    backend: ClassVar[str] = IN_PROCESS


class InProcessSender(HostMemorySender[InProcessInfo]):
    """Hands the tensors over without a copy."""

    init_info_cls = InProcessInfo

    def send_weights(self) -> None:
        self.client.start_weight_update()
        self.client.update_weights({"tensors": list(self.source or ())})
        self.client.finish_weight_update()


def _laid_out(tensors: Mapping[str, Tensor]) -> tuple[list[tuple[str, str, list[int], int]], int]:
    """Return the place of each tensor in a segment, and the segment's size in bytes."""
    places, start = [], 0
    for name, tensor in tensors.items():
        places.append((name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape), start))
        start += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    return places, start


def _view(segment: SharedMemory, dtype: str, shape: list[int], start: int) -> Tensor:
    kind = getattr(torch, dtype)
    count = torch.Size(shape).numel()
    return torch.frombuffer(segment.buf, dtype=kind, count=count, offset=start).view(shape)
