"""Both sides of an update, as far as our ways of bringing weights have them in common."""

from dataclasses import dataclass
from typing import Any, Self, TypeVar

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

Info = TypeVar("Info", bound=TrainerInitInfo)
Update = TypeVar("Update", bound=WeightTransferUpdateInfo)


@dataclass
class InitInfo(WeightTransferInitInfo):
    """Nothing has to be agreed on beforehand."""


class Worker(WeightTransferEngine[InitInfo, Update]):
    """Reloads its model layer by layer from what it receives; nothing is kept after."""

    init_info_cls = InitInfo

    def init_transfer_engine(self, init_info: InitInfo) -> None:
        """Nothing is kept between updates."""

    def start_weight_update(self) -> None:
        initialize_layerwise_reload(self.model)

    def finish_weight_update(self) -> None:
        finalize_layerwise_reload(self.model, self.model_config)
        repack_tied_head(self.model, self.model_config)

    def shutdown(self) -> None:
        """Nothing is kept between updates."""


class Sender(TrainerWeightTransferEngine[Info]):
    """This process's side, which needs nothing but to be the only one."""

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
