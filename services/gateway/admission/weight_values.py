"""The values in safetensors files, read in pieces of a few MiB: whether they are numbers that a model can have.

Reading takes about as long as hashing the files, which every upload does too.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hone.models.architecture import Architecture
from hone.models.checkpoint_header import BadCheckpoint
from services.gateway.admission.stored_folder import StoredFile

EMBEDDING, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"
LARGEST = 1e6
"""Largest size of a weight. Weights of models are below a thousand; products of much larger ones overflow."""

_PIECE = 1 << 22  # numbers that are read at once


@dataclass(frozen=True)
class Format:
    """A format of floating point numbers: its bits as an integer type, and the bits of the largest weight in it.

    Without the sign, bits are ordered as the sizes of the numbers are; those of infinity and NaN are above all others.
    """

    bits: type[np.unsignedinteger[Any]]
    largest: int


FORMATS = {"F32": Format(np.uint32, 0x49742400), "BF16": Format(np.uint16, 0x4974), "F16": Format(np.uint16, 0x7BFF)}
"""Formats of weights by their names in safetensors. The largest number of F16 is 65504."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file: its format, its shape, and the byte at which its numbers begin."""

    path: Path | StoredFile
    dtype: str
    shape: tuple[int, ...]
    start: int

    def pieces(self, file: IO[bytes]) -> Iterator[NDArray[Any]]:
        """Yield the bits of its numbers in order, from the open file. Raises OSError, BadCheckpoint."""
        bits, left = FORMATS[self.dtype].bits, math.prod(self.shape)
        file.seek(self.start)
        while left:
            data = file.read(min(left, _PIECE) * bits(0).nbytes)
            if not data:
                raise BadCheckpoint(self.path.name, f"a file that ends {left} numbers early", "a whole file")
            yield np.frombuffer(data, bits)
            left -= len(data) // bits(0).nbytes

    def floats(self, file: IO[bytes]) -> Iterator[NDArray[np.float32]]:
        """Yield its numbers in order, as float32. Raises OSError, BadCheckpoint."""
        return (_floats(self.dtype, piece) for piece in self.pieces(file))


def check(tensors: Mapping[str, StoredTensor], architecture: Architecture) -> None:
    """Raise BadCheckpoint for the first tensor with a value that no weight has, and for a tied output that differs.

    Each file is read once, from its beginning to its end. Raises OSError when it cannot be read.
    """
    by_file = groupby(sorted(tensors.items(), key=_place), key=lambda one: one[1].path.name)
    for _, together in by_file:
        named = list(together)
        with named[0][1].path.open("rb") as file:
            for name, tensor in named:
                _check_sizes(name, tensor, file)
    if architecture.tied and OUTPUT in tensors:
        _check_tied(tensors[EMBEDDING], tensors[OUTPUT])


def _place(named: tuple[str, StoredTensor]) -> tuple[str, int]:
    return named[1].path.name, named[1].start


def _check_sizes(name: str, tensor: StoredTensor, file: IO[bytes]) -> None:
    form, before = FORMATS[tensor.dtype], 0
    sign = form.bits(1 << (form.bits(0).nbytes * 8 - 1))
    for piece in tensor.pieces(file):
        sizes = piece & ~sign
        if sizes.max() > form.largest:
            place = int((sizes > form.largest).argmax())
            at = [int(index) for index in np.unravel_index(before + place, tensor.shape)]
            value = float(_floats(tensor.dtype, piece[place:place + 1])[0])
            raise BadCheckpoint(name, f"{value:g} at {at}", f"finite numbers of at most {LARGEST:g}")
        before += len(piece)


def _check_tied(embedding: StoredTensor, output: StoredTensor) -> None:
    if output.shape != embedding.shape:
        raise BadCheckpoint(OUTPUT, f"shape {list(output.shape)}", f"shape {list(embedding.shape)}, of {EMBEDDING}")
    before = 0
    with output.path.open("rb") as ours, embedding.path.open("rb") as theirs:
        for one, other in zip(output.floats(ours), embedding.floats(theirs), strict=True):
            if not np.array_equal(one, other):
                row = (before + int((one != other).argmax())) // output.shape[1]
                raise BadCheckpoint(
                    OUTPUT, f"a tensor that differs from {EMBEDDING} in row {row}",
                    "the same numbers, or no such tensor, because tie_word_embeddings of config.json is true; if the "
                    "model's output is a tensor of its own, set it to false")
            before += len(one)


def _floats(dtype: str, bits: NDArray[Any]) -> NDArray[np.float32]:
    if dtype == "BF16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float32 if dtype == "F32" else np.float16).astype(np.float32)
