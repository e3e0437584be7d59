"""Keyed noise: a uniform number that depends on nothing but (seed, request, sample, call, position)."""

import hashlib
import struct

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BITS = 24


def keys(seed: int, request: str, call: int, samples: NDArray[np.int64]) -> Keys:
    """Return the key of each sample of one call, for `uniforms`."""
    packed = struct.pack("<qq", seed, call) + request.encode()
    base = np.uint64(int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little"))
    return _mixed(base + (samples.astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def uniforms(keys: Keys, positions: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return a number in [0, 1), a multiple of 2^-24, for each key and completion position."""
    return _scaled(_mixed(keys + (positions.astype(np.uint64) + np.uint64(1)) * _GOLDEN))


def others(uniforms: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return another number of the same kind for each of `uniforms`, for a draw that is repeated."""
    return _scaled(_mixed((uniforms * np.float32(2.0 ** _BITS)).astype(np.uint64) + _GOLDEN))


def _scaled(mixed: Keys) -> NDArray[np.float32]:
    return (mixed >> np.uint64(64 - _BITS)).astype(np.float32) * np.float32(2.0 ** -_BITS)


def _mixed(state: Keys) -> Keys:
    """The finaliser of splitmix64: every input bit flips each output bit with probability near 1/2."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
