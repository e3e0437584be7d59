"""The header of a safetensors file: names and shapes of tensors. Torch-free: a service can check an upload with it."""

import json
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from hone.models.architecture import HEAD, OWN_HEAD, Architecture

T = TypeVar("T")


class Shaped(Protocol):
    """A tensor whose shape alone is read."""

    @property
    def shape(self) -> tuple[int, ...]: ...


class BadCheckpoint(ValueError):
    """Files that are not a usable model: the file or tensor, what was found, and what was expected."""

    def __init__(self, subject: str, found: object, expected: str) -> None:
        super().__init__(f"{subject}: found {found}, expected {expected}")
        self.subject, self.found, self.expected = subject, found, expected


def shapes(data: bytes, name: str = "model.safetensors") -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor of a safetensors file by name.

    Raises BadCheckpoint if `data` is not a whole safetensors file. `name` is the file's name in the message.
    """
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise BadCheckpoint(name, f"{len(data)} bytes", "a whole safetensors file")
    header = _parse(data[8:8 + size], name)
    header.pop("__metadata__", None)
    end = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
    if 8 + size + end != len(data):
        raise BadCheckpoint(name, f"{len(data)} bytes", f"{8 + size + end} bytes, as its header says")
    return {tensor: tuple(facts["shape"]) for tensor, facts in header.items()}


def _parse(header: bytes, name: str) -> dict[str, Any]:
    try:
        parsed = json.loads(header)
    except ValueError:
        raise BadCheckpoint(name, "a header that is not JSON", "a safetensors file") from None
    if not isinstance(parsed, dict):
        raise BadCheckpoint(name, "a header that is no object", "a safetensors file")
    return parsed


def check(architecture: Architecture, found: Mapping[str, tuple[int, ...]]) -> None:
    """Compare tensor shapes with the architecture's. Raises BadCheckpoint with the first difference."""
    if architecture.layers > len(found):  # checked first: a false number would make too many names
        raise BadCheckpoint("config.json: num_hidden_layers", architecture.layers, f"at most the {len(found)} tensors")
    expected = architecture.shapes()
    for name, shape in expected.items():
        if name not in found:
            raise BadCheckpoint(name, "no such tensor", f"shape {list(shape)}")
        if tuple(found[name]) != shape:
            raise BadCheckpoint(name, f"shape {list(found[name])}", f"shape {list(shape)}")
    for name in found:
        if name not in expected and not _ignored(architecture, name):
            raise BadCheckpoint(name, "a tensor of this name", f"only those of {architecture.family}")


def named(architecture: Architecture, tensors: Mapping[str, T]) -> dict[str, T]:
    """Return tensors by the names of a Hugging Face checkpoint: the head of a critic of ours has its own name."""
    return {HEAD if architecture.rates and name == OWN_HEAD else name: tensor for name, tensor in tensors.items()}


def compare(file: str, tensors: Mapping[str, Shaped], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Raise BadCheckpoint unless a file has exactly the expected tensors, with the expected shapes."""
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if found.get(name) != expected.get(name):
            raise BadCheckpoint(file, f"{name} of shape {found.get(name)}", f"{expected.get(name)}")


def _ignored(architecture: Architecture, name: str) -> bool:
    return name.endswith("rotary_emb.inv_freq") or (architecture.tied and name == "lm_head.weight")
