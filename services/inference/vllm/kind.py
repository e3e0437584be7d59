"""vLLM as the service makes it: a core for each whole model, one for all adapters of a base."""

import torch

from hone.models import adapter
from hone.models.adapter import Lora
from hone.models.architecture import Architecture
from hone.models.checkpoint import read_weights
from hone.models.checkpoint_header import BadCheckpoint
from hone.spec.settings import Settings
from services.inference import finite
from services.inference.engines import Source
from services.inference.takeover import Tolerance
from services.inference.vllm import options

options.prepare_process()  # vLLM reads its switches as it is imported

import vllm

from services.inference.vllm import transfer
from services.inference.vllm.core import Core
from services.inference.vllm.engine import Engine, Version


class Kind:
    """Makes engines on vLLM."""

    name = "vllm"
    least_temperature = 1e-2  # it takes what is lower for this, and says so in its log alone

    def __init__(self, settings: Settings) -> None:
        torch.set_num_threads(settings.engine_threads)
        transfer.register()
        self._settings = settings
        self._bases: dict[str, Core] = {}
        self._tolerance = Tolerance.of_arithmetic(settings)

    def build(self) -> dict[str, str]:
        return {"vllm": vllm.__version__, "torch": torch.__version__, "dtype": self._settings.engine_dtype}

    def prepared(self, source: Source) -> Version:
        """Return a version whose weights are finite and fit. Raises NotFinite, BadCheckpoint."""
        if source.adapter is None:
            finite.check(source.checkpoint.tensors)
        else:
            tensors = read_weights(source.adapter[adapter.WEIGHTS])
            form, most = Lora.from_config(source.adapter[adapter.CONFIG]), self._settings.vllm_adapter_rank
            if form.rank > most:
                raise BadCheckpoint("adapter rank", form.rank, f"at most {most}, this engine's HONE_VLLM_ADAPTER_RANK")
            adapter.check(source.checkpoint.architecture, form, tensors)
            finite.check(tensors)
        return Version(source.id, source.model_id, source.checkpoint, source.adapter, source.base, source.tokenizer,
                       source.probe)

    def explored(self, architecture: Architecture) -> None:
        """Nothing is measured beforehand."""

    def engine(self, version: Version, architecture: Architecture) -> Engine:
        core = Core(self._settings, False) if version.adapter is None else self._shared(version)
        made = Engine(architecture, core, version.model_id, self._settings.engine_max_tokens, self._tolerance)
        made.verdicts.append(made.take(version))
        return made

    def _shared(self, version: Version) -> Core:
        """Return the core of an adapter's base; those whose last adapter went are forgotten."""
        self._bases = {base: core for base, core in self._bases.items() if core.askers}
        return self._bases.setdefault(version.base, Core(self._settings, True))
