"""The ways of new weights: those without a GPU for real, and those with GPUs as far as a CPU can test them."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from vllm.distributed.weight_transfer.packed_tensor import PackedIpcChunk

from hone.spec.problems import Invalid
from hone.spec.settings import Settings
from services.inference.takeover import EXACT, Action
from services.inference.vllm.core import Core
from services.inference.vllm.engine import VllmEngine
from services.inference.vllm.transfer import gpu_handles, sender
from services.inference.vllm.transfer.sender import TensorSource
from tests.vllm.engines import SETTINGS, checkpoint, offered, version


def chosen(**given: Any) -> Settings:
    return SETTINGS.model_copy(update={"vllm": SETTINGS.vllm.model_copy(update=given)})


def served(settings: Settings) -> VllmEngine:
    """Return an engine of its own settings that serves seed 0's weights."""
    first = version("v0", 0)
    made = VllmEngine(first.checkpoint.architecture, Core(settings, False), "m", settings.engine.max_tokens, EXACT)
    assert made.take(first).served
    return made


def test_a_lone_worker_is_handed_the_tensors_and_keeps_none_of_them() -> None:
    with closing(served(chosen(weight_transfer="ipc"))) as engine:
        before = version("v1", 1)
        for next_one in (before, version("v2", 2)):
            verdict = offered(engine, next_one)
            assert verdict.action is Action.UPDATED
            assert verdict.gap is not None
            assert verdict.gap.largest < 1e-4
    for name, tensor in checkpoint(1).tensors.items():
        assert torch.equal(before.checkpoint.tensors[name], tensor), "the next update wrote into the last one's"


def test_workers_in_processes_of_their_own_read_the_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "spawn")  # as it is wherever there are GPUs
    with closing(served(chosen(tensor_parallel=2))) as engine:
        verdict = offered(engine, version("v1", 1))
        assert verdict.action is Action.UPDATED
        assert verdict.gap is not None
        assert verdict.gap.largest < 1e-4


@pytest.mark.parametrize(("way", "workers", "backend"), [
    ("shm", 1, "shm"), ("shm", 2, "shm"), ("ipc", 1, "in_process"), ("ipc", 2, "ipc"), ("nccl", 1, "nccl")])
def test_each_way_has_vllms_name_of_the_workers_side(way: str, workers: int, backend: str) -> None:
    assert sender.route(chosen(weight_transfer=way, tensor_parallel=workers)).backend == backend


@pytest.mark.parametrize(("way", "workers", "gpus"), [("ipc", 2, 1), ("nccl", 1, 1), ("nccl", 2, 2)])
def test_a_way_that_needs_more_gpus_is_refused_by_name(way: str, workers: int, gpus: int) -> None:
    settings = chosen(weight_transfer=way, tensor_parallel=workers)
    with pytest.raises(Invalid, match=rf"HONE_VLLM_WEIGHT_TRANSFER.*{way} where {gpus} GPUs.*or shm"):
        sender.check(settings, gpus)
    sender.check(settings, gpus + 1)


@pytest.mark.parametrize(("way", "workers"), [("shm", 8), ("ipc", 1)])
def test_ways_that_need_no_gpu_are_taken(way: str, workers: int) -> None:
    sender.check(chosen(weight_transfer=way, tensor_parallel=workers), 0)


class Client:
    """A stand-in for two workers on GPUs, each of which copies its buffer, as vLLM's receiver does."""

    def __init__(self, buffers: dict[str, Tensor]) -> None:
        self.steps: list[str] = []
        self.received: dict[str, dict[str, Tensor]] = {}
        self._buffers = buffers

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        assert init_info == {"packed": True}

    def start_weight_update(self) -> None:
        self.steps.append("start")

    def update_weights(self, update: dict[str, Any]) -> None:
        self.steps.append("update")
        assert set(update["ipc_handles"]) == {"gpu-0", "gpu-1"}
        for unique in update["ipc_handles"]:
            self.received.setdefault(unique, {})
            for name, shape, part in zip(
                update["names"], update["shapes"], self._buffers[unique].split(update["tensor_sizes"]), strict=True,
            ):
                self.received[unique][name] = part.clone().view(torch.float32).view(shape)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self.steps.append("finish")


@dataclass
class Properties:
    uuid: str


def test_every_workers_gpu_gets_each_piece_under_its_own_id(monkeypatch: pytest.MonkeyPatch) -> None:
    buffers: dict[str, Tensor] = {}

    def produced(tensors: Iterator[tuple[str, Tensor]], unique: str, *_: object) -> Iterator[PackedIpcChunk]:
        """Yield pieces of one tensor in one buffer for each GPU."""
        for name, tensor in tensors:
            buffers[unique] = tensor.contiguous().view(-1).view(torch.uint8)
            yield PackedIpcChunk([name], [list(tensor.shape)], ["float32"], [tensor.nbytes], {unique: ("handle",)})

    monkeypatch.setattr(gpu_handles, "packed_ipc_producer", produced)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Properties(f"gpu-{device}"))
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "ipc_collect", lambda: None)
    client, weights = Client(buffers), TensorSource(torch.device("cpu"))
    info = gpu_handles.GpuHandleInfo(rank=0, devices=[0, 1])
    sending = gpu_handles.GpuHandleSender.trainer_init(info, client=client, source=weights)
    weights.tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(4)}
    sending.send_weights()
    assert client.steps == ["start", "update", "update", "finish"]
    for received in client.received.values():
        assert {name: tensor.tolist() for name, tensor in received.items()} == {
            name: tensor.tolist() for name, tensor in weights.tensors.items()}


def test_a_buffer_has_room_for_the_largest_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = TensorSource(torch.device("cpu"))
    weights.tensors = {"a": torch.zeros(8, dtype=torch.bfloat16), "b": torch.zeros(3)}
    monkeypatch.setattr(gpu_handles, "DEFAULT_PACKED_BUFFER_SIZE_BYTES", 4)
    assert gpu_handles._room(weights) == 16
    monkeypatch.setattr(gpu_handles, "DEFAULT_PACKED_BUFFER_SIZE_BYTES", 100)
    assert gpu_handles._room(weights) == 100
