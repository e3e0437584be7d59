"""Weights for workers that are processes of their own: through a buffer on each one's GPU, by its CUDA handle.

vLLM's sender knows one GPU, that of the trainer's rank. Here one process fills a buffer on every worker's GPU with the
same piece, and the handles of all of them, each under its GPU's id, travel together; vLLM's receiver takes its own.
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
class SenderInfo(TrainerInitInfo):
    """The workers' GPUs, as torch numbers them in this process."""

    backend: ClassVar[str] = "hone_ipc"
    devices: list[int] = field(default_factory=list)


class Sender(TrainerWeightTransferEngine[SenderInfo]):
    """This process's side; the workers' is vLLM's own."""

    init_info_cls = SenderInfo
    devices: Sequence[int] = ()

    @classmethod
    def trainer_init(
        cls, init_info: SenderInfo, *, client: VLLMWeightSyncClient, source: WeightSource | None = None
    ) -> "Sender":
        made = cls(client=client, source=source, is_sender=init_info.is_sender)
        made.devices = init_info.devices
        client.init_weight_transfer_engine({"packed": True})
        return made

    def send_weights(self) -> None:
        source = self.source
        assert source is not None, "given by whoever makes a sender"
        size = _room(source)
        self.client.start_weight_update()
        for pieces in zip(*(_pieces(source, device, size) for device in self.devices), strict=True):
            self.client.update_weights(_update(pieces))  # returns when every worker has copied its buffer
        self.client.finish_weight_update()
        torch.cuda.ipc_collect()  # type: ignore[no-untyped-call]


def _room(source: WeightSource) -> int:
    """Return the bytes of a buffer: vLLM's, or what the largest tensor needs, which is never cut."""
    each: list[int] = [meta.dtype.itemsize * torch.Size(meta.shape).numel() for meta in source.metadata()]
    usual: int = DEFAULT_PACKED_BUFFER_SIZE_BYTES
    return max(usual, max(each, default=0))


def _pieces(source: WeightSource, device: int, size: int) -> Iterator[PackedIpcChunk]:
    """Fill a buffer on a GPU again and again, each time when the piece before is no longer needed."""
    unique = str(torch.cuda.get_device_properties(device).uuid)
    produced = packed_ipc_producer(iter(source), unique, itemgetter(1), size)
    while True:
        with torch.cuda.device(device):  # left before every yield: others fill theirs in between
            piece = next(produced, None)
        if piece is None:
            return
        yield piece


def _update(pieces: Sequence[PackedIpcChunk]) -> dict[str, Any]:
    """Return one update of pieces that are alike but for the GPU they are on."""
    first = pieces[0]
    handles = {unique: handle for piece in pieces for unique, handle in piece.ipc_handle.items()}
    return {"names": first.names, "dtype_names": first.dtype_names, "shapes": first.shapes, "ipc_handles": handles,
            "tensor_sizes": first.tensor_sizes}
