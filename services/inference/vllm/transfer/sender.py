"""New weights into a live engine, by vLLM's own weight-transfer interface.

    route(settings)                         the way that the settings choose, for this number of workers
    updater = WeightUpdater(llm, settings)
    updater.send(tensors)                    update the weights of every worker
"""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from vllm.distributed.weight_transfer.base import ParamMeta, TrainerInitInfo, WeightSource
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory, WeightTransferTrainerFactory
from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo
from vllm.v1.engine.llm_engine import LLMEngine

from hone.spec.problems import Invalid, Problem
from hone.spec.settings import Settings
from services.inference.vllm.transfer import gpu_handles, host_memory

_NCCL = "nccl"


@dataclass(frozen=True)
class Route:
    """A way of weights from this process to the workers."""

    backend: str
    """vLLM's name of the way, on the workers' side."""
    info: Callable[[int], TrainerInitInfo]
    """Returns the settings of the sender's side, for a number of workers."""


ROUTES = {
    "shm": Route(host_memory.SHARED_MEMORY, lambda _: host_memory.SharedMemoryInfo(rank=0)),
    "in_process": Route(host_memory.IN_PROCESS, lambda _: host_memory.InProcessInfo(rank=0)),
    "ipc": Route(gpu_handles.BACKEND, lambda workers: gpu_handles.GpuHandleInfo(rank=0, devices=list(range(workers)))),
    "nccl": Route(_NCCL, lambda workers: _broadcast(1 + workers)),
}


def route(settings: Settings) -> Route:
    """Return the way that the settings choose. A single worker is this process, which cannot open its own handle."""
    chosen = settings.vllm.weight_transfer
    return ROUTES["in_process" if chosen == "ipc" and settings.vllm.tensor_parallel == 1 else chosen]


def check(settings: Settings, gpus: int) -> None:
    """Raise Invalid if the settings choose a way that needs more than `gpus` GPUs."""
    chosen, workers = settings.vllm.weight_transfer, settings.vllm.tensor_parallel
    needed = {"ipc": workers if workers > 1 else 0, _NCCL: workers + 1}.get(chosen, 0)
    if gpus < needed:
        raise Invalid([Problem("HONE_VLLM_WEIGHT_TRANSFER", f"{chosen} where {gpus} GPUs are visible",
                               f"at least {needed} for {workers} workers, or shm")])


class TensorSource(WeightSource):
    """A version's tensors, in the form that vLLM's senders read; `tensors` is set before each update."""

    def __init__(self, device: torch.device) -> None:
        self.tensors: Mapping[str, Tensor] = {}
        self._device = device

    def metadata(self) -> list[ParamMeta]:
        return [ParamMeta(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in self.tensors.items()]

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        for name, tensor in self.tensors.items():
            yield name, tensor.to(self._device)


class WorkerClient:
    """Calls each step of an update on every worker of an engine."""

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


class WeightUpdater:
    """Updates one engine's weights in place."""

    def __init__(self, llm: LLMEngine, settings: Settings) -> None:
        """Connect to the workers as the way needs it. Raises what vLLM raises."""
        workers = settings.vllm.tensor_parallel
        self._gpu = workers if settings.vllm.weight_transfer == _NCCL else None
        self._source = TensorSource(torch.device("cpu") if self._gpu is None else torch.device("cuda", self._gpu))
        with self._own_gpu():
            self._engine = WeightTransferTrainerFactory.trainer_init(
                route(settings).info(workers), client=WorkerClient(llm), source=self._source)

    def send(self, tensors: Mapping[str, Tensor]) -> None:
        """Update every worker's weights. Raises what vLLM raises; the weights are then undefined."""
        self._source.tensors = tensors
        try:
            with self._own_gpu():
                self._engine.send_weights()
        finally:
            self._source.tensors = {}

    def close(self) -> None:
        """Close the connection to workers that have ended."""
        self._engine.shutdown()

    def _own_gpu(self) -> AbstractContextManager[object]:
        """Use the GPU after those of the workers, from which NCCL sends: it takes one rank for each GPU."""
        return nullcontext() if self._gpu is None else torch.cuda.device(self._gpu)


def _broadcast(ranks: int) -> TrainerInitInfo:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return NCCLTrainerInitInfo(rank=0, master_address="127.0.0.1", master_port=port, world_size=ranks)


def _register() -> None:
    for way, receiver, sender in (
        (host_memory.SHARED_MEMORY, host_memory.SharedMemoryReceiver, host_memory.SharedMemorySender),
        (host_memory.IN_PROCESS, host_memory.InProcessReceiver, host_memory.InProcessSender),
    ):
        WeightTransferEngineFactory.register_engine(way, receiver)
        WeightTransferTrainerFactory.register_engine(way, sender)
    WeightTransferTrainerFactory.register_engine(gpu_handles.GpuHandleInfo.backend, gpu_handles.GpuHandleSender)


_register()  # once in each process: vLLM's workers import this module too
