"""A learner as files, and back: safetensors and JSON, nothing is ever unpickled."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from hone.models import adapter, architecture
from hone.models.adapter import Lora
from hone.models.checkpoint import WEIGHTS, Checkpoint, read_weights, weights_bytes
from hone.models.checkpoint_header import BadCheckpoint

_CONFIG = "config.json"
_OPTIMIZER = "optimizer.safetensors"
_REFERENCE = "reference.safetensors"
_STATE = "learner.json"


@dataclass(frozen=True)
class Snapshot:
    """Everything a learner needs to go on exactly where it stood."""

    config: dict[str, Any]
    weights: dict[str, Tensor]  # what is trained: all of the model, or an adapter
    lora: Lora | None = None  # the adapter's form
    updates: int = 0  # optimizer steps taken
    optimizer: dict[str, dict[str, Tensor]] = field(default_factory=dict)  # exp_avg, exp_avg_sq -> parameter -> tensor
    gradients: dict[str, Tensor] = field(default_factory=dict)  # accumulated and not yet applied
    reference: dict[str, Tensor] | None = None  # weights before the first update, where a slot compares with them
    states: dict[str, Any] = field(default_factory=dict)  # of the slots

    def files(self) -> dict[str, bytes]:
        """Return the files by name; equal snapshots give equal bytes."""
        moments = {f"{kind}.{name}": tensor for kind, named in self.optimizer.items() for name, tensor in named.items()}
        gradients = {f"gradient.{name}": tensor for name, tensor in self.gradients.items()}
        state = {"updates": self.updates, "states": self.states}
        files = {
            _CONFIG: json.dumps(self.config, indent=2, sort_keys=True).encode(),
            _OPTIMIZER: weights_bytes({**moments, **gradients}),
            _STATE: json.dumps(state, sort_keys=True).encode(),
        }
        if self.lora is None:
            files[WEIGHTS] = weights_bytes(self.weights)
        else:
            files |= {adapter.WEIGHTS: weights_bytes(self.weights), adapter.CONFIG: self.lora.config("")}
        return files if self.reference is None else {**files, _REFERENCE: weights_bytes(self.reference)}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> "Snapshot":
        """Read what `files` wrote. Raises BadCheckpoint naming a missing or broken file."""
        adapted = adapter.WEIGHTS in files
        owned = (adapter.WEIGHTS, adapter.CONFIG) if adapted else (WEIGHTS,)
        for name in (_CONFIG, *owned, _OPTIMIZER, _STATE):
            if name not in files:
                raise BadCheckpoint(name, f"files {sorted(files)}", "a snapshot's files")
        lora = adapter.Lora.from_config(files[adapter.CONFIG]) if adapted else None
        config, weights = _whole(files) if lora is None else _adapter(files, lora)
        state, named = json.loads(files[_STATE]), _by_kind(read_weights(files[_OPTIMIZER]))
        gradients = named.pop("gradient", {})
        reference = read_weights(files[_REFERENCE]) if _REFERENCE in files else None
        return cls(config, weights, lora, state["updates"], named, gradients, reference, state["states"])

    @property
    def architecture(self) -> architecture.Architecture:
        """What the config describes. Raises Unsupported."""
        return architecture.parse(self.config)


def _whole(files: Mapping[str, bytes]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    checkpoint = Checkpoint.from_files({name: files[name] for name in (_CONFIG, WEIGHTS)})
    return checkpoint.config, checkpoint.tensors


def _adapter(files: Mapping[str, bytes], lora: Lora) -> tuple[dict[str, Any], dict[str, Tensor]]:
    config, weights = json.loads(files[_CONFIG]), read_weights(files[adapter.WEIGHTS])
    adapter.check(architecture.parse(config), lora, weights)
    return config, weights


def _by_kind(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    named: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        kind, name = key.split(".", 1)
        named.setdefault(kind, {})[name] = tensor
    return named
