"""The head of a safetensors file on disk: names, types and shapes, every claim checked, no weight read."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone.models.checkpoint_header import BadCheckpoint

_LONGEST_HEADER = 100_000_000
_ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


@dataclass(frozen=True)
class TensorFacts:
    """One tensor as its file's header describes it."""

    dtype: str
    shape: tuple[int, ...]


def read(path: Path) -> dict[str, TensorFacts]:
    """Return every tensor's facts by name.

    Raises BadCheckpoint when the file is cut short, is no safetensors file, or its header contradicts itself.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise BadCheckpoint(path.name, f"{size} bytes that do not begin with a header", "a whole safetensors file")
        header = _object(file.read(length), path.name)
    header.pop("__metadata__", None)
    facts = {name: _facts(name, entry, path.name) for name, entry in header.items()}
    _check_extent([entry["data_offsets"] for entry in header.values()], size - 8 - length, path.name)
    return facts


def _object(text: bytes, file: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise BadCheckpoint(file, "a header that is no JSON", "a safetensors file") from None
    if not isinstance(header, dict):
        raise BadCheckpoint(file, "a header that is no object", "a safetensors file")
    return header


def _facts(name: str, entry: Any, file: str) -> TensorFacts:
    subject = f"{file}: {name}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise BadCheckpoint(subject, "an incomplete entry", "dtype, shape and data_offsets")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _ITEM_BYTES:
        raise BadCheckpoint(subject, f"dtype {entry['dtype']}", f"one of {', '.join(_ITEM_BYTES)}")
    if not (_counts(entry["shape"]) and _counts(entry["data_offsets"]) and len(entry["data_offsets"]) == 2):
        raise BadCheckpoint(subject, "a malformed shape or offset", "lists of whole numbers")
    begin, end = entry["data_offsets"]
    needed = math.prod(entry["shape"]) * _ITEM_BYTES[entry["dtype"]]
    if end - begin != needed:
        raise BadCheckpoint(subject, f"{end - begin} bytes", f"{needed} bytes for its shape")
    return TensorFacts(entry["dtype"], tuple(entry["shape"]))


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_extent(extents: list[list[int]], available: int, file: str) -> None:
    position = 0
    for begin, end in sorted(extents):
        if begin != position:
            raise BadCheckpoint(file, f"a gap or overlap at byte {position} of its data", "tensors one after another")
        position = end
    if position != available:
        raise BadCheckpoint(file, f"{available} bytes of data", f"{position}, as its header says")
