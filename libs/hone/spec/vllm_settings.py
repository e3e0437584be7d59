"""Settings of the vLLM engine: HONE_VLLM_*."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings


class VllmSettings(BaseSettings):
    """What `HONE_ENGINE=vllm` adds; without it nothing here matters."""

    vllm_python: Path = Field(
        Path(".venv-vllm/bin/python"), description="Python of vLLM's own environment, which `make vllm` builds; "
        "relative paths are looked for from the directory that `hone up` is run in.")
    vllm_cache_mb: int = Field(
        256, ge=1, description="Keys and values on a CPU, MiB, of each model (or base with its adapters) that is held.")
    vllm_block_tokens: Literal[16, 32] = Field(
        32, description="Tokens of a block of the prefix cache: prompts share whole blocks. The probe is longer.")
    vllm_eager: bool = Field(
        True, description="Run operators one by one; false compiles first, which takes half a minute and is about an "
        "eighth faster.")
    vllm_weight_transfer: Literal["shm", "ipc", "nccl"] = Field(
        "shm", description="How new weights reach the engine's workers: shared memory; CUDA IPC, or the tensors "
        "themselves where the one worker is the engine's process; NCCL, from one GPU more than there are workers.")
    vllm_tensor_parallel: int = Field(
        1, ge=1, description="GPUs that one model is cut across.")
    vllm_memory_share: float = Field(
        0.9, gt=0, le=1, description="Share of a GPU's memory that vLLM may take; on a CPU vllm_cache_mb says it.")
    vllm_sleep_s: float | None = Field(
        None, gt=0, description="Seconds without a request after which the first model of a process sleeps, its "
        "weights in host memory instead of the GPU's, until the next one; never without it.")
    vllm_adapters: int = Field(
        4, ge=1, description="Adapters of one base that vLLM computes with in one step.")
    vllm_adapter_rank: Literal[8, 16, 32, 64, 128, 256] = Field(
        64, description="Largest rank of an adapter.")
