"""Weights for workers in processes of their own: through a buffer on each worker's GPU, by its CUDA handle.

vLLM's own sender knows one GPU, that of the trainer's rank. Here one process writes the same piece into a buffer on
every worker's GPU. It sends all handles together, each under its GPU's id; vLLM's receiver takes the one of its GPU.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, ClassVar

import torch
from vllm.distributed.weight_transfer.base import (
    TrainerInitInfo,
    TrainerWeightTransferEngine,
    VLLMWeightSyncClient,
    WeightSource,
)
from vllm.distributed.weight_transfer.packed_tensor import (
    DEFAULT_PACKED_BUFFER_SIZE_BYTES,
    PackedIpcChunk,
    packed_ipc_producer,
)

BACKEND = "ipc"


@dataclass
class GpuHandleInfo(TrainerInitInfo):
    """The workers' GPUs, as torch numbers them in this process."""

    backend: ClassVar[str] = "hone_ipc"
    devices: list[int] = field(default_factory=list)


class GpuHandleSender(TrainerWeightTransferEngine[GpuHandleInfo]):
    """This process's side. The workers' side is vLLM's own."""

    init_info_cls = GpuHandleInfo
    devices: Sequence[int] = ()

    @classmethod
    def trainer_init(
        cls, init_info: GpuHandleInfo, *, client: VLLMWeightSyncClient, source: WeightSource | None = None
    ) -> "GpuHandleSender":
        made = cls(client=client, source=source, is_sender=init_info.is_sender)
        made.devices = init_info.devices
        client.init_weight_transfer_engine({"packed": True})
        return made

    def send_weights(self) -> None:
        source = self.source
        assert source is not None, "trainer_init gets one"
        size = _room(source)
        self.client.start_weight_update()
        for pieces in zip(*(_pieces(source, device, size) for device in self.devices), strict=True):
            self.client.update_weights(_update(pieces))  # returns when every worker has copied its buffer
        self.client.finish_weight_update()
        torch.cuda.ipc_collect()  # type: ignore[no-untyped-call]


def _room(source: WeightSource) -> int:
    """Return the size of a buffer in bytes: vLLM's default, or more for a larger tensor, since no tensor is cut."""
    each: list[int] = [meta.dtype.itemsize * torch.Size(meta.shape).numel() for meta in source.metadata()]
    usual: int = DEFAULT_PACKED_BUFFER_SIZE_BYTES
    return max(usual, max(each, default=0))


def _pieces(source: WeightSource, device: int, size: int) -> Iterator[PackedIpcChunk]:
    """Yield each piece in one buffer on a GPU; the next piece overwrites it."""
    unique = str(torch.cuda.get_device_properties(device).uuid)
    produced = packed_ipc_producer(iter(source), unique, itemgetter(1), size)
    while True:
        with torch.cuda.device(device):  # left before every yield: the other GPUs' buffers are filled in between
            piece = next(produced, None)
        if piece is None:
            return
        yield piece


def _update(pieces: Sequence[PackedIpcChunk]) -> dict[str, Any]:
    """Return one update from the same piece on every GPU."""
    first = pieces[0]
    handles = {unique: handle for piece in pieces for unique, handle in piece.ipc_handle.items()}
    return {"names": first.names, "dtype_names": first.dtype_names, "shapes": first.shapes, "ipc_handles": handles,
            "tensor_sizes": first.tensor_sizes}
