"""New weights into a live engine, by vLLM's own weight-transfer interface, through shared memory.

    register()                              once in a process, before an engine is made
    sender = Sender(llm, "shm")
    sender.send(tensors)                    start, update, finish, on every worker

Tensors go through a POSIX shared-memory segment, so that workers which are processes of their own read it too.
"""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any, ClassVar

import torch
from torch import Tensor
from vllm.distributed.weight_transfer.base import (
    ParamMeta,
    TrainerInitInfo,
    TrainerWeightTransferEngine,
    VLLMWeightSyncClient,
    WeightSource,
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory, WeightTransferTrainerFactory
from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo
from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload
from vllm.v1.engine.llm_engine import LLMEngine

BACKEND = "shm"
_ALIGNMENT = 64


@dataclass
class InitInfo(WeightTransferInitInfo):
    """Nothing has to be agreed on beforehand."""


@dataclass
class UpdateInfo(WeightTransferUpdateInfo):
    """Where each tensor lies in the segment: (name, dtype, shape, first byte)."""

    segment: str
    places: list[tuple[str, str, list[int], int]]


class SharedMemoryTransfer(WeightTransferEngine[InitInfo, UpdateInfo]):
    """A worker's side."""

    init_info_cls = InitInfo
    update_info_cls = UpdateInfo

    def init_transfer_engine(self, init_info: InitInfo) -> None:
        """Nothing is kept between updates."""

    def start_weight_update(self) -> None:
        initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: UpdateInfo) -> None:
        segment = SharedMemory(update_info.segment)
        try:  # copied out: layers keep what they are given until the update is finished
            tensors = [(name, _view(segment, dtype, shape, start).clone())
                       for name, dtype, shape, start in update_info.places]
        finally:
            segment.close()
        self.model.load_weights(tensors)

    def finish_weight_update(self) -> None:
        finalize_layerwise_reload(self.model, self.model_config)
        repack_tied_head(self.model, self.model_config)

    def shutdown(self) -> None:
        """Nothing is kept between updates."""


def repack_tied_head(model: Any, config: Any) -> None:
    """Let a tied output projection use the new embedding: on a CPU it multiplies by a packed copy of the old one."""
    tied = getattr(config.hf_text_config, "tie_word_embeddings", False)
    if tied and next(model.parameters()).device.type == "cpu":
        dispatch_cpu_unquantized_gemm(model.lm_head, remove_weight=False)


class Weights(WeightSource):
    """A version's tensors, as whatever sends them asks for them; `tensors` are replaced before each update."""

    def __init__(self, device: torch.device) -> None:
        self.tensors: Mapping[str, Tensor] = {}
        self._device = device

    def metadata(self) -> list[ParamMeta]:
        return [ParamMeta(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in self.tensors.items()]

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for name, tensor in self.tensors.items():
            yield name, tensor.to(self._device)


class Workers:
    """Hands each step of an update to every worker of an engine."""

    def __init__(self, llm: LLMEngine) -> None:
        self._llm = llm

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self._llm.collective_rpc("init_weight_transfer_engine", args=(init_info,))

    def start_weight_update(self) -> None:
        self._llm.collective_rpc("start_weight_update")

    def update_weights(self, update_info: Any) -> None:
        self._llm.collective_rpc("update_weights", args=(update_info,))

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._llm.collective_rpc("finish_weight_update")


@dataclass
class SenderInfo(TrainerInitInfo):
    """The sender's side needs nothing but to be the only one."""

    backend: ClassVar[str] = BACKEND


class SharedMemorySender(TrainerWeightTransferEngine[SenderInfo]):
    """This process's side."""

    init_info_cls = SenderInfo

    @classmethod
    def trainer_init(
        cls, init_info: SenderInfo, *, client: VLLMWeightSyncClient, source: WeightSource | None = None
    ) -> "SharedMemorySender":
        made = cls(client=client, source=source, is_sender=init_info.is_sender)
        client.init_weight_transfer_engine({})
        return made

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


class Sender:
    """Updates one engine's weights in place, by one of vLLM's backends: shm, or ipc and nccl where there are GPUs."""

    def __init__(self, llm: LLMEngine, backend: str) -> None:
        """Agree with the workers on what the backend needs. Raises what vLLM raises."""
        device = torch.device("cpu" if backend == BACKEND else "cuda")
        self._source = Weights(device)
        self._engine = WeightTransferTrainerFactory.trainer_init(
            _sender_info(llm, backend), client=Workers(llm), source=self._source)

    def send(self, tensors: Mapping[str, Tensor]) -> None:
        """Update every worker's weights. Raises what vLLM raises; the weights are then of no use."""
        self._source.tensors = tensors
        try:
            self._engine.send_weights()
        finally:
            self._source.tensors = {}


def _sender_info(llm: LLMEngine, backend: str) -> TrainerInitInfo:
    if backend == BACKEND:
        return SenderInfo(rank=0)
    if backend == "ipc":
        return IPCTrainerInitInfo(rank=0)
    workers = llm.vllm_config.parallel_config.world_size
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return NCCLTrainerInitInfo(rank=0, master_address="127.0.0.1", master_port=port, world_size=1 + workers)


def register() -> None:
    """Make the shared-memory backend known to vLLM. Raises ValueError the second time."""
    WeightTransferEngineFactory.register_engine(BACKEND, SharedMemoryTransfer)
    WeightTransferTrainerFactory.register_engine(BACKEND, SharedMemorySender)


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
