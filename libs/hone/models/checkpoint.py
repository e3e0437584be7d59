"""A model's files in the directory layout of Hugging Face: safetensors weights, never pickles."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from hone.models import adapter, architecture, checkpoint_header
from hone.models.checkpoint_header import BadCheckpoint

WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True)
class Checkpoint:
    """A whole model. `tensors` have the names in the files; `files` are all other files, with config.json.

    If an adapter is among the files, it is merged into the tensors.
    """

    config: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    files: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def from_directory(cls, directory: Path | str) -> "Checkpoint":
        """Read a model directory. Folders inside it are ignored.

        Raises BadCheckpoint if config.json or weights are missing or do not fit together, and Unsupported
        (hone.models.architecture) if Hone lacks a feature that the config needs.
        """
        paths = (path for path in sorted(Path(directory).iterdir()) if path.is_file())
        return cls.from_files({path.name: path.read_bytes() for path in paths})

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> "Checkpoint":
        """Read a model from its files' bytes by name. Raises as `from_directory` does."""
        config = _config(files)
        parsed = architecture.parse(config)
        if adapter.WEIGHTS in files:
            rest = {name: data for name, data in files.items() if name not in (adapter.WEIGHTS, adapter.CONFIG)}
            return cls.from_files(rest).adapted(files)
        names = _weight_files(files)
        found = {name: shape for file in names for name, shape in checkpoint_header.shapes(files[file], file).items()}
        checkpoint_header.check(parsed, checkpoint_header.named(parsed, found))
        tensors = checkpoint_header.named(parsed, {
            name: tensor for file in names for name, tensor in read_weights(files[file]).items()})
        rest = {name: data for name, data in files.items() if name not in {*names, _INDEX}}
        return cls(config, {name: tensors[name] for name in parsed.shapes()}, rest)

    def adapted(self, files: Mapping[str, bytes]) -> "Checkpoint":
        """Return this model with the adapter in `files` merged into it. Raises BadCheckpoint."""
        if adapter.CONFIG not in files:
            raise BadCheckpoint(adapter.CONFIG, f"files {sorted(files)}", "an adapter_config.json beside the adapter")
        lora, tensors = adapter.Lora.from_config(files[adapter.CONFIG]), read_weights(files[adapter.WEIGHTS])
        return replace(self, tensors=adapter.merged(self.tensors, lora, tensors, self.architecture))

    @property
    def architecture(self) -> architecture.Architecture:
        """The architecture that the config describes. Raises Unsupported."""
        return architecture.parse(self.config)

    def to_files(self) -> dict[str, bytes]:
        """Return every file's bytes by name; equal checkpoints give equal bytes."""
        config = json.dumps(self.config, indent=2, sort_keys=True).encode()
        return {"config.json": config, **self.files, WEIGHTS: weights_bytes(self.tensors)}

    def write(self, directory: Path | str) -> None:
        """Write the files to `directory`, and make it if it is missing."""
        Path(directory).mkdir(parents=True, exist_ok=True)
        for name, data in self.to_files().items():
            Path(directory, name).write_bytes(data)


def weights_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Return a safetensors file that stock transformers loads; equal tensors give equal bytes.

    Each tensor is written, even if several share memory. The caller leaves out tied weights.
    """
    plain = {name: tensors[name].detach().to("cpu").contiguous().clone() for name in sorted(tensors)}
    return safetensors.torch.save(plain, metadata={"format": "pt"})


def read_weights(data: bytes) -> dict[str, torch.Tensor]:
    """Return the tensors of a safetensors file by name. Raises BadCheckpoint if it is not such a file."""
    try:
        return safetensors.torch.load(data)
    except (safetensors.SafetensorError, KeyError) as error:
        raise BadCheckpoint(WEIGHTS, str(error), "a safetensors file") from error


def _config(files: Mapping[str, bytes]) -> dict[str, Any]:
    if "config.json" not in files:
        raise BadCheckpoint("config.json", f"files {sorted(files)}", "a config.json beside the weights")
    try:
        config = json.loads(files["config.json"])
    except ValueError as error:
        raise BadCheckpoint("config.json", str(error), "a JSON object") from error
    if not isinstance(config, dict):
        raise BadCheckpoint("config.json", type(config).__name__, "a JSON object")
    return config


def _weight_files(files: Mapping[str, bytes]) -> list[str]:
    if WEIGHTS in files:
        return [WEIGHTS]
    if _INDEX in files:
        shards = sorted(set(json.loads(files[_INDEX])["weight_map"].values()))
        for shard in shards:
            if shard not in files:
                raise BadCheckpoint(shard, "no such file", f"every shard that {_INDEX} names")
        return shards
    raise BadCheckpoint(WEIGHTS, f"files {sorted(files)}", f"{WEIGHTS} (weights are never unpickled)")
