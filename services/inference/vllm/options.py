"""vLLM's process-wide switches, set before it is imported, and the arguments of one of its engines."""

import logging
import os
from pathlib import Path
from typing import Any, get_args

from llvmlite.binding import ffi

from hone.spec.model import Projection
from hone.spec.settings import Settings
from services.inference.requests import LARGEST_TOP_K

MIB = 2**20
_SWITCHES = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # stepped in this process: weights change between steps
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",  # the gateway has checked the length against the model
    "VLLM_USE_V2_MODEL_RUNNER": "0",  # the runner that `worker` extends
    "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CONFIGURE_LOGGING": "0", "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
_BLOCK_TOKENS = 32  # of a block of the prefix cache: prompts share whole blocks, and the probe is longer than one
EXTENSION = "services.inference.vllm.worker.WorkerExtension"
_ADAPTED = list(get_args(Projection))
"""The projections that adapters may change. The output projection is not one: with it a CPU cannot score prompts."""


def prepare_process() -> None:
    """Set the switches that the environment does not set."""
    for name, value in _SWITCHES.items():
        os.environ.setdefault(name, value)
    _hide_from_vllm(type(ffi.lib))
    # It repeats warnings about its build with each engine, and about tied weights with each update (see the probe).
    logging.getLogger("vllm").setLevel(logging.ERROR)


def _hide_from_vllm(library: Any) -> None:
    """Give a C library no attribute `__dict__`: vLLM searches the objects of all modules for its kernels.

    llvmlite (below numba, which the loader's forward uses) returns a function for every attribute name.
    """
    known = library.__getattr__

    def function(held: Any, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return known(held, name)

    library.__getattr__ = function


def arguments(settings: Settings, directory: Path, adapters: bool, sleeps: bool) -> dict[str, Any]:
    """Return the keyword arguments of vLLM's EngineArgs for the model in `directory`."""
    given: dict[str, Any] = {
        "model": str(directory), "skip_tokenizer_init": True, "dtype": settings.engine.dtype, "seed": 0,
        "max_model_len": settings.engine.max_tokens + 1,  # it needs room for one token after a scored text
        "max_num_seqs": settings.engine.slots,
        "enforce_eager": settings.vllm.eager, "enable_prefix_caching": True, "block_size": _BLOCK_TOKENS,
        "logprobs_mode": "processed_logprobs", "disable_log_stats": True,
        "max_logprobs": LARGEST_TOP_K + 1,  # a score's likeliest ids, and its entropy
        "async_scheduling": False,  # so that the step that returns a token also made it
        "generation_config": "vllm",  # no sampling defaults from the model's files
        "tensor_parallel_size": settings.vllm.tensor_parallel, "worker_extension_cls": EXTENSION,
    }
    return given | _memory(settings, sleeps) | (_adapting(settings) if adapters else {})


def _adapting(settings: Settings) -> dict[str, Any]:
    return {"enable_lora": True, "max_loras": settings.vllm.adapters, "max_lora_rank": settings.vllm.adapter_rank,
            "lora_target_modules": _ADAPTED}


def _memory(settings: Settings, sleeps: bool) -> dict[str, Any]:
    from vllm.platforms import current_platform
    if current_platform.is_cpu():
        return {"kv_cache_memory_bytes": settings.vllm.cache_mb * MIB}
    return {"gpu_memory_utilization": settings.vllm.memory_share, "enable_sleep_mode": sleeps}
