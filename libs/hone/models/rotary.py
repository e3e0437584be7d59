"""Frequencies, cosines and sines of rotary positions, in float32 and in the order of operations of stock transformers.

Source: transformers 5, modeling_rope_utils. llama3 is Llama 3.1's (2407.21783), yarn is 2309.00071.
"""

import math

import torch
from torch import Tensor

from hone.models.architecture import Architecture
from hone.models.rope import Rope


def frequencies(architecture: Architecture) -> Tensor:
    """Return the angle by which each pair of a head turns from one position to the next, radians, [head_dim / 2]."""
    rope, size = architecture.rope, architecture.head_dim
    exponents = torch.arange(0, size, 2, dtype=torch.int64).float() / size
    plain = 1.0 / rope.theta**exponents
    if rope.kind == "linear":
        return plain / rope.factor
    if rope.kind == "llama3":
        return _llama3(rope, plain)
    return _yarn(rope, exponents, size) if rope.kind == "yarn" else plain


def turns(positions: Tensor, frequencies: Tensor, rope: Rope) -> tuple[Tensor, Tensor]:
    """Return cosines and sines, scaled by the attention factor, of positions [N], float32 [N, head_dim / 2] each."""
    angles = positions.float()[:, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    if rope.attention_factor == 1.0:
        return cos, sin
    return cos * rope.attention_factor, sin * rope.attention_factor


def _llama3(rope: Rope, plain: Tensor) -> Tensor:
    """Return long wavelengths divided by the factor, short ones as they are, and a blend between them."""
    longest, shortest = (rope.original_positions / by for by in (rope.low_freq_factor, rope.high_freq_factor))
    wavelength = 2 * math.pi / plain
    scaled = torch.where(wavelength > longest, plain / rope.factor, plain)
    smooth = (rope.original_positions / wavelength - rope.low_freq_factor) / (
        rope.high_freq_factor - rope.low_freq_factor)
    blend = (1 - smooth) * scaled / rope.factor + smooth * scaled
    return torch.where(~(wavelength < shortest) & ~(wavelength > longest), blend, scaled)


def _yarn(rope: Rope, exponents: Tensor, size: int) -> Tensor:
    """Return frequencies of which fast ones are as they are, slow ones divided by the factor, with a ramp between."""
    powers = rope.theta**exponents
    low, high = _ramp(rope, size)
    kept = 1 - ((torch.arange(size // 2, dtype=torch.float32) - low) / (high - low)).clamp(0, 1)
    return 1.0 / (rope.factor * powers) * (1 - kept) + 1.0 / powers * kept


def _ramp(rope: Rope, size: int) -> tuple[float, float]:
    """Return the pairs of a head between which the ramp goes."""
    def pair(rotations: float) -> float:
        return size * math.log(rope.original_positions / (rotations * 2 * math.pi)) / (2 * math.log(rope.theta))

    low, high = pair(rope.beta_fast), pair(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    return low, high + 0.001 if low == high else high
