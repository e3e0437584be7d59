"""Weights for the one worker that is this process: it is handed the tensors themselves, wherever they are.

A CUDA handle cannot be opened by the process that made it, and NCCL takes one rank a GPU: this is what is left there,
and less work than either.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from vllm.distributed.weight_transfer.base import TrainerInitInfo, WeightTransferUpdateInfo

from services.inference.vllm.transfer import endpoints

BACKEND = "in_process"


@dataclass
class UpdateInfo(WeightTransferUpdateInfo):
    """Every tensor by name."""

    tensors: list[tuple[str, Tensor]]


class Receiver(endpoints.Worker[UpdateInfo]):
    """The worker's side."""

    update_info_cls = UpdateInfo

    def receive_weights(self, update_info: UpdateInfo) -> None:
        self.model.load_weights(update_info.tensors)


@dataclass
class SenderInfo(TrainerInitInfo):
    """The sender's side needs nothing but to be the only one."""

    backend: ClassVar[str] = BACKEND


class Sender(endpoints.Sender[SenderInfo]):
    """The other side, in the same process."""

    init_info_cls = SenderInfo

    def send_weights(self) -> None:
        self.client.start_weight_update()
        self.client.update_weights({"tensors": list(self.source or ())})
        self.client.finish_weight_update()
