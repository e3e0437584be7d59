"""Low-rank adapters (LoRA), trained beside a base whose weights stay, in the files and names of PEFT.

    y = x·Wᵀ + scale·(x·Aᵀ)·Bᵀ, scale = alpha / rank       for each targeted projection W [out, in]

A [rank, in] starts random, B [out, rank] starts as zero: a new adapter changes nothing.
Source: Hu et al., LoRA (2106.09685); names and initial values are PEFT's.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.models import checkpoint_header
from hone.models.architecture import Architecture
from hone.models.checkpoint_header import BadCheckpoint
from hone.spec.model import LoraSpec

WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
PREFIX = "base_model.model."


@dataclass(frozen=True)
class Lora:
    """The form of an adapter: rank, alpha, and the names of the adapted projections."""

    rank: int
    alpha: float
    targets: tuple[str, ...]

    @classmethod
    def of(cls, spec: LoraSpec) -> "Lora":
        return cls(spec.rank, spec.alpha, tuple(sorted(spec.targets)))

    @classmethod
    def from_config(cls, data: bytes) -> "Lora":
        """Read a PEFT adapter_config.json. Raises BadCheckpoint for another kind of adapter."""
        config = json.loads(data)
        for field, expected in (("peft_type", "LORA"), ("bias", "none"), ("use_rslora", False), ("use_dora", False)):
            if config.get(field, expected) != expected:
                raise BadCheckpoint(CONFIG, f"{field} {config[field]!r}", f"{expected!r}")
        return cls(config["r"], config["lora_alpha"], tuple(sorted(config["target_modules"])))

    @property
    def scale(self) -> float:
        return self.alpha / self.rank

    def config(self, base: str) -> bytes:
        """Return adapter_config.json as PEFT writes it; `base` is the name of the base model."""
        fields: dict[str, Any] = {
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "r": self.rank,
            "lora_alpha": self.alpha, "target_modules": list(self.targets), "lora_dropout": 0.0, "bias": "none",
            "fan_in_fan_out": False, "inference_mode": True, "init_lora_weights": True, "use_rslora": False,
            "use_dora": False}
        return json.dumps(fields, indent=2, sort_keys=True).encode()

    def modules(self, architecture: Architecture) -> dict[str, tuple[int, int]]:
        """Return (out, in) of every adapted projection by its name in the checkpoint."""
        shapes = architecture.shapes()
        return {name.removesuffix(".weight"): (shape[0], shape[1]) for name, shape in shapes.items()
                if name.split(".")[-2] in self.targets and len(shape) == 2}

    def shapes(self, architecture: Architecture) -> dict[str, tuple[int, int]]:
        """Return the shape of every tensor by its name in the file."""
        found: dict[str, tuple[int, int]] = {}
        for module, (out, into) in self.modules(architecture).items():
            found[down_name(module)], found[up_name(module)] = (self.rank, into), (out, self.rank)
        return found


def down_name(module: str) -> str:
    """Return the name of A of a projection."""
    return f"{PREFIX}{module}.lora_A.weight"


def up_name(module: str) -> str:
    """Return the name of B of a projection."""
    return f"{PREFIX}{module}.lora_B.weight"


def initial(architecture: Architecture, lora: Lora, seed: int) -> dict[str, Tensor]:
    """Return a new adapter, which changes nothing; equal seeds give equal bits.

    A is uniform within ±1/√in: PEFT's kaiming_uniform with a = √5.
    """
    random, tensors = np.random.Generator(np.random.PCG64(seed)), dict[str, Tensor]()
    for module, (out, into) in lora.modules(architecture).items():
        drawn = random.random((lora.rank, into), dtype=np.float32) * 2 - 1
        tensors[down_name(module)] = torch.from_numpy(drawn / np.float32(math.sqrt(into)))
        tensors[up_name(module)] = torch.zeros(out, lora.rank)
    return tensors


def check(architecture: Architecture, lora: Lora, tensors: Mapping[str, Tensor]) -> None:
    """Raise BadCheckpoint unless `tensors` have the names and shapes of this adapter for this model."""
    checkpoint_header.compare(WEIGHTS, tensors, lora.shapes(architecture))


def merged(tensors: Mapping[str, Tensor], lora: Lora, adapter: Mapping[str, Tensor],
           architecture: Architecture) -> dict[str, Tensor]:
    """Return a model's tensors with the adapter added to the adapted ones, as float32; the others are shared."""
    check(architecture, lora, adapter)
    whole = dict(tensors)
    for module in lora.modules(architecture):
        delta = adapter[up_name(module)].float() @ adapter[down_name(module)].float()
        whole[f"{module}.weight"] = tensors[f"{module}.weight"].float() + lora.scale * delta
    return whole
