"""A learner's state as files: safetensors and JSON, never pickles."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from hone.models import adapter, architecture, checkpoint_header
from hone.models.adapter import Lora
from hone.models.checkpoint import WEIGHTS, Checkpoint, read_weights, weights_bytes
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.critic import Critic

_CONFIG = "config.json"
_OPTIMIZER = "optimizer.safetensors"
_REFERENCE = "reference.safetensors"
_CRITIC = "critic.safetensors"
_CRITIC_OPTIMIZER = "critic_optimizer.safetensors"
_STATE = "learner.json"


MOMENTS = ("exp_avg", "exp_avg_sq")
"""The moments that AdamW keeps for each parameter."""


@dataclass(frozen=True)
class Trained:
    """Weights in training by name, and the state of their optimizer."""

    weights: dict[str, Tensor]
    updates: int = 0  # optimizer steps taken
    moments: dict[str, dict[str, Tensor]] = field(default_factory=dict)  # exp_avg, exp_avg_sq -> parameter -> tensor
    gradients: dict[str, Tensor] = field(default_factory=dict)  # accumulated and not yet applied

    def optimizer_file(self) -> bytes:
        """Return moments and gradients as a safetensors file."""
        moments = {f"{kind}.{name}": tensor for kind, named in self.moments.items() for name, tensor in named.items()}
        return weights_bytes({**moments, **{f"gradient.{name}": tensor for name, tensor in self.gradients.items()}})

    @classmethod
    def read(cls, weights: dict[str, Tensor], updates: int, optimizer_file: bytes) -> "Trained":
        """Return the state that `optimizer_file` holds. Raises BadCheckpoint if it is not a safetensors file."""
        named = _by_kind(read_weights(optimizer_file))
        return cls(weights, updates, gradients=named.pop("gradient", {}), moments=named)

    def outline(self) -> dict[str, Any]:
        """Return everything but the tensors as JSON."""
        return {"updates": self.updates, "gradients": list(self.gradients)}

    @classmethod
    def from_outline(cls, outline: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> "Trained":
        """Return the state with this outline, with tensors of these shapes that have no values."""
        weights = without_values(shapes)
        moments = dict.fromkeys(MOMENTS, weights) if outline["updates"] else {}
        return cls(weights, outline["updates"], moments, {name: weights[name] for name in outline["gradients"]})


@dataclass(frozen=True)
class Snapshot:
    """Everything a learner needs to resume exactly."""

    config: dict[str, Any]
    policy: Trained  # all of the model, or an adapter
    lora: Lora | None = None  # the adapter's form
    reference: dict[str, Tensor] | None = None  # weights before the first update, if a slot compares with them
    states: dict[str, Any] = field(default_factory=dict)  # of the slots
    critic: Trained | None = None  # trained beside the policy; None: there is none

    def files(self) -> dict[str, bytes]:
        """Return the files by name; equal snapshots give equal bytes."""
        state: dict[str, Any] = {"updates": self.policy.updates, "states": self.states}
        files = {
            _CONFIG: json.dumps(self.config, indent=2, sort_keys=True).encode(),
            _OPTIMIZER: self.policy.optimizer_file(),
        }
        if self.critic is not None:
            state["critic_updates"] = self.critic.updates
            files |= {_CRITIC: weights_bytes(self.critic.weights), _CRITIC_OPTIMIZER: self.critic.optimizer_file()}
        files[_STATE] = json.dumps(state, sort_keys=True).encode()
        if self.lora is None:
            files[WEIGHTS] = weights_bytes(self.policy.weights)
        else:
            files |= {adapter.WEIGHTS: weights_bytes(self.policy.weights), adapter.CONFIG: self.lora.config("")}
        return files if self.reference is None else {**files, _REFERENCE: weights_bytes(self.reference)}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> "Snapshot":
        """Return the snapshot that `files` wrote. Raises BadCheckpoint with the name of a missing or broken file."""
        adapted = adapter.WEIGHTS in files
        _require(files, _CONFIG, *((adapter.WEIGHTS, adapter.CONFIG) if adapted else (WEIGHTS,)), _OPTIMIZER, _STATE)
        lora = adapter.Lora.from_config(files[adapter.CONFIG]) if adapted else None
        config, weights = _whole(files) if lora is None else _adapter(files, lora)
        state = json.loads(files[_STATE])
        policy = Trained.read(weights, state["updates"], files[_OPTIMIZER])
        reference = read_weights(files[_REFERENCE]) if _REFERENCE in files else None
        critic = _critic(files, config, state["critic_updates"]) if "critic_updates" in state else None
        return cls(config, policy, lora, reference, state["states"], critic)

    def outline(self) -> dict[str, Any]:
        """Return everything but the tensors as JSON, for ranks that get their part of the tensors from rank 0."""
        lora = None if self.lora is None else [self.lora.rank, self.lora.alpha, list(self.lora.targets)]
        return {"config": self.config, "lora": lora, "policy": self.policy.outline(),
                "reference": self.reference is not None, "states": self.states,
                "critic": None if self.critic is None else self.critic.outline()}

    @classmethod
    def from_outline(cls, outline: Mapping[str, Any]) -> "Snapshot":
        """Return the snapshot with this outline. Its tensors have shapes and no values."""
        shape, lora = architecture.parse(outline["config"]), outline["lora"]
        form = None if lora is None else Lora(lora[0], lora[1], tuple(lora[2]))
        policy = Trained.from_outline(outline["policy"], shape.shapes() if form is None else form.shapes(shape))
        critic = outline["critic"] and Trained.from_outline(outline["critic"], Critic.shapes(shape))
        reference = policy.weights if outline["reference"] else None
        return cls(outline["config"], policy, form, reference, outline["states"], critic)

    @property
    def architecture(self) -> architecture.Architecture:
        """The architecture that the config describes. Raises Unsupported."""
        return architecture.parse(self.config)


@dataclass(frozen=True)
class Start:
    """The state in which a learner begins: a snapshot, and the base's tensors if an adapter is trained."""

    snapshot: Snapshot
    base: Mapping[str, Tensor] | None = None

    @classmethod
    def first(
        cls, files: Mapping[str, bytes], lora: Lora | None = None, seed: int = 0, *, critic: bool = False,
    ) -> "Start":
        """Begin with a model directory's files. With `lora` an adapter is trained, whose first values `seed` draws.

        A critic begins with the model's weights too. Raises BadCheckpoint or Unsupported if the files are not a usable
        model.
        """
        checkpoint = Checkpoint.from_files(files)
        config, tensors, shape = checkpoint.config, checkpoint.tensors, checkpoint.architecture
        beside = Trained(Critic.initial(shape, tensors)) if critic else None
        if lora is None:
            return cls(Snapshot(config, Trained(tensors), critic=beside))
        return cls(Snapshot(config, Trained(adapter.initial(shape, lora, seed)), lora, critic=beside), tensors)

    @classmethod
    def again(cls, files: Mapping[str, bytes], base: Mapping[str, bytes] | None = None) -> "Start":
        """Resume from a snapshot's files; an adapter needs the files of its `base` too. Raises BadCheckpoint."""
        tensors = None if base is None else Checkpoint.from_files(base).tensors
        return cls(Snapshot.from_files(files), tensors)

    @classmethod
    def elsewhere(cls, outline: Mapping[str, Any]) -> "Start":
        """Begin as rank 0 does, whose snapshot has this outline. The values come from rank 0."""
        snapshot = Snapshot.from_outline(outline)
        return cls(snapshot, None if snapshot.lora is None else without_values(snapshot.architecture.shapes()))


def without_values(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Return tensors of these shapes on the meta device."""
    return {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}


def _whole(files: Mapping[str, bytes]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    checkpoint = Checkpoint.from_files({name: files[name] for name in (_CONFIG, WEIGHTS)})
    return checkpoint.config, checkpoint.tensors


def _adapter(files: Mapping[str, bytes], lora: Lora) -> tuple[dict[str, Any], dict[str, Tensor]]:
    config, weights = json.loads(files[_CONFIG]), read_weights(files[adapter.WEIGHTS])
    adapter.check(architecture.parse(config), lora, weights)
    return config, weights


def _critic(files: Mapping[str, bytes], config: Mapping[str, Any], updates: int) -> Trained:
    _require(files, _CRITIC, _CRITIC_OPTIMIZER)
    weights = read_weights(files[_CRITIC])
    checkpoint_header.compare(_CRITIC, weights, Critic.shapes(architecture.parse(config)))
    return Trained.read(weights, updates, files[_CRITIC_OPTIMIZER])


def _require(files: Mapping[str, bytes], *names: str) -> None:
    for name in names:
        if name not in files:
            raise BadCheckpoint(name, f"files {sorted(files)}", "a snapshot's files")


def _by_kind(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    named: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        kind, name = key.split(".", 1)
        named.setdefault(kind, {})[name] = tensor
    return named
