"""GPUs by name: memory and peak rates of their makers' data sheets."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """A GPU: bytes of memory, and peak operations a second, dense, in bfloat16 and in float32."""

    memory: float
    bfloat16: float
    float32: float


GPUS: Mapping[str, Gpu] = {
    "a100-40": Gpu(40e9, 312e12, 19.5e12),
    "a100-80": Gpu(80e9, 312e12, 19.5e12),
    "h100": Gpu(80e9, 989e12, 67e12),
    "h200": Gpu(141e9, 989e12, 67e12),
    "l4": Gpu(24e9, 121e12, 30.3e12),
    "l40s": Gpu(48e9, 362e12, 91.6e12),
}
"""The SXM variants, where there are several."""

GENERATED, TRAINED = 0.10, 0.35
"""Assumed shares of the peak: of bfloat16 in generation, of float32, in which the trainer computes, in training."""
