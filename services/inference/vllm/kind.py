"""vLLM as the service makes it: a core for each whole model, one for all adapters of a base."""

import torch

from hone.models import adapter
from hone.models.adapter import Lora
from hone.models.architecture import Architecture
from hone.models.checkpoint import read_weights
from hone.models.checkpoint_header import BadCheckpoint
from hone.spec.settings import Settings
from services.inference.engines import Version
from services.inference.takeover import Tolerance, check_finite
from services.inference.vllm import options, scratch

options.prepare_process()  # vLLM reads its switches as it is imported

import vllm

from services.inference.vllm.core import Core
from services.inference.vllm.engine import VllmEngine
from services.inference.vllm.transfer import sender


class VllmKind:
    """Makes engines on vLLM."""

    name = "vllm"
    least_temperature = 1e-2  # it takes what is lower for this, and says so in its log alone

    def __init__(self, settings: Settings) -> None:
        """Be ready to make engines. Raises Invalid where the settings ask for GPUs that are not there."""
        sender.check(settings, torch.cuda.device_count())
        scratch.sweep()
        torch.set_num_threads(settings.engine.threads)
        self._settings = settings
        self._cores: dict[str, Core] = {}  # by the base that adapters share, or by the model
        self._tolerance = Tolerance.of_arithmetic(settings)

    def build(self) -> dict[str, str]:
        return {"vllm": vllm.__version__, "torch": torch.__version__, "dtype": self._settings.engine.dtype}

    def prepared(self, version: Version) -> Version:
        """Return a version whose weights are finite and fit. Raises NotFinite, BadCheckpoint."""
        if version.adapter is None:
            check_finite(version.checkpoint.tensors)
        else:
            tensors = read_weights(version.adapter[adapter.WEIGHTS])
            form, most = Lora.from_config(version.adapter[adapter.CONFIG]), self._settings.vllm.adapter_rank
            if form.rank > most:
                raise BadCheckpoint("adapter rank", form.rank, f"at most {most}, this engine's HONE_VLLM_ADAPTER_RANK")
            adapter.check(version.checkpoint.architecture, form, tensors)
            check_finite(tensors)
        return version

    def explored(self, architecture: Architecture) -> None:
        """Nothing is measured beforehand."""

    def engine(self, version: Version, architecture: Architecture) -> VllmEngine:
        core = self._core(version)
        return VllmEngine(architecture, core, version.model_id, self._settings.engine.max_tokens, self._tolerance)

    def _core(self, version: Version) -> Core:
        """Return the core of an adapter's base, or a model's own; those that the last model left are forgotten."""
        self._cores = {name: core for name, core in self._cores.items() if core.askers}
        name, adapters = (version.base, True) if version.adapter is not None else (version.model_id, False)
        if name not in self._cores:
            sleeps = not any(core.sleeps for core in self._cores.values())
            self._cores[name] = Core(self._settings, adapters, sleeps)
        return self._cores[name]
