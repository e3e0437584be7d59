"""A worker's side of an update, as far as all ways of bringing weights have it in common."""

from typing import Any, TypeVar

from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

Init = TypeVar("Init", bound=WeightTransferInitInfo)
Update = TypeVar("Update", bound=WeightTransferUpdateInfo)


class Worker(WeightTransferEngine[Init, Update]):
    """Reloads its model layer by layer from what it receives; nothing is agreed on before nor kept after."""

    def init_transfer_engine(self, init_info: Init) -> None:
        """Nothing is kept between updates."""

    def start_weight_update(self) -> None:
        initialize_layerwise_reload(self.model)

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
