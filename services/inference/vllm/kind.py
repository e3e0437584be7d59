"""Makes engines on vLLM from the settings: a core for each whole model, and one for all adapters of a base."""

import torch

from hone.models import adapter
from hone.models.adapter import Lora
from hone.models.architecture import Architecture
from hone.models.checkpoint import read_weights
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.config_fields import Unsupported
from hone.spec.settings import Settings
from services.inference.engines import Version
from services.inference.takeover import Tolerance, check_finite
from services.inference.vllm import options

options.prepare_process()  # vLLM reads its switches as it is imported

import vllm

from services.inference.vllm.core import Core
from services.inference.vllm.engine import VllmEngine
from services.inference.vllm.transfer import sender


class VllmKind:
    """Makes engines on vLLM, and the cores below them."""

    name = "vllm"
    least_temperature = 1e-2  # vLLM draws at this value for lower ones, and reports that only in its log

    def __init__(self, settings: Settings) -> None:
        """Raises Invalid when the settings need GPUs that this machine does not have."""
        sender.check(settings, torch.cuda.device_count())
        torch.set_num_threads(settings.engine.threads)
        self._settings = settings
        self._cores: dict[str, Core] = {}  # by the base that adapters share, or by the model
        self._tolerance = Tolerance.of_arithmetic(settings)

    def build(self) -> dict[str, str]:
        return {"vllm": vllm.__version__, "torch": torch.__version__, "dtype": self._settings.engine.dtype}

    def prepare(self, version: Version) -> Version:
        """Return the version, whose weights are checked. Raises NotFinite, BadCheckpoint, Unsupported."""
        _check_positions(version.checkpoint.architecture)
        if version.checkpoint.architecture.rates:
            raise Unsupported("architectures", version.checkpoint.config["architectures"], "a model that writes text: "
                              "reward models are served by native engines (HONE_ENGINE=native)")
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

    def measure(self, architecture: Architecture) -> None:
        """Do nothing: vLLM needs no measurements."""

    def make_engine(self, version: Version, architecture: Architecture) -> VllmEngine:
        core = self._core(version)
        return VllmEngine(architecture, core, version.model_id, self._settings.engine.max_tokens, self._tolerance,
                          self._settings.engine.guest_share)

    def _core(self, version: Version) -> Core:
        """Return the core of an adapter's base, or the model's own. Cores without users are forgotten."""
        self._cores = {name: core for name, core in self._cores.items() if core.users}
        name, adapters = (version.base, True) if version.adapter is not None else (version.model_id, False)
        if name not in self._cores:
            sleeps = not any(core.sleeps for core in self._cores.values())
            self._cores[name] = Core(self._settings, adapters, sleeps)
        return self._cores[name]


def _check_positions(architecture: Architecture) -> None:
    """Raise Unsupported for a yarn model with more positions than vLLM has cosines and sines for."""
    rope = architecture.rope
    reach = int(rope.factor * rope.original_positions)
    if rope.kind == "yarn" and architecture.max_positions > reach:
        raise Unsupported("max_position_embeddings", architecture.max_positions,
                          f"at most {reach} with vLLM: factor times original_max_position_embeddings; the native "
                          "engine (HONE_ENGINE=native) serves it")
