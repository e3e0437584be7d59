"""`python -m tests.unit.models.kernel_bits`: the digest of every compiled loop's outputs for the same numbers."""

import hashlib

import numpy as np

from hone.models import attention_kernels, policy_kernels
from hone.models.policy_kernels import Floats
from services.inference.native import kernels
from services.inference.native.attention import BLOCK, attention

ROWS, HEADS, KV_HEADS, SIZE, POSITIONS = 37, 4, 2, 30, 19
EPSILON = np.float32(1e-6)


def training(numbers: np.random.Generator) -> list[Floats]:
    """Return the outputs of the trainer's loops."""
    x, gradient, weight = (numbers.standard_normal(shape, np.float32) for shape in ((ROWS, SIZE), (ROWS, SIZE), SIZE))
    out, for_x, gated, for_gate, for_up, added = (np.zeros_like(x) for _ in range(6))
    scale, for_weight = np.empty(ROWS, np.float32), np.zeros_like(weight)
    policy_kernels.rms_norm(x, weight, EPSILON, out, scale)
    policy_kernels.rms_norm_gradient(x, gradient, x, weight, scale, for_x, for_weight)
    policy_kernels.gated(x, gradient, gated)
    policy_kernels.gated_gradient(gradient, x, out, for_gate, for_up)
    policy_kernels.added(gradient, numbers.integers(0, ROWS, ROWS), added)
    return [out, scale, for_x, for_weight, gated, for_gate, for_up, added, *_heads(numbers), *_attention(numbers)]


def _heads(numbers: np.random.Generator) -> list[Floats]:
    flat = numbers.standard_normal((ROWS, (HEADS + 2 * KV_HEADS) * SIZE), np.float32)
    norms = numbers.standard_normal((HEADS + KV_HEADS, SIZE), np.float32)
    cos, sin = numbers.standard_normal((2, ROWS, SIZE // 2), np.float32)
    query = np.empty((ROWS, HEADS, SIZE), np.float32)
    key, value = np.empty((2, ROWS, KV_HEADS, SIZE), np.float32)
    scale, for_flat, for_norms = np.empty((ROWS, HEADS + KV_HEADS), np.float32), np.empty_like(flat), norms * 0
    policy_kernels.heads(flat, norms, cos, sin, EPSILON, query, key, value, scale)
    policy_kernels.heads_gradient(query, key, value, flat, norms, cos, sin, scale, for_flat, for_norms)
    return [query, key, value, scale, for_flat, for_norms]


def _attention(numbers: np.random.Generator) -> list[Floats]:
    spans, behind = np.array([[0, 9, 0, 0], [9, 13, 0, 9], [22, 15, 9, 11]]), np.array([*range(9), *range(11)])
    query, gradient = numbers.standard_normal((2, ROWS, HEADS, SIZE), np.float32)
    key, value = numbers.standard_normal((2, ROWS, KV_HEADS, SIZE), np.float32)
    out, logs = np.empty_like(query), np.empty((ROWS, HEADS), np.float32)
    found = [query * 0, key * 0, value * 0]
    attention_kernels.attention(SIZE)(query, key, value, spans, behind, out, logs)
    attention_kernels.attention_gradient(SIZE)(gradient, query, key, value, spans, behind, out, logs, *found)
    return [out, logs, *found]


def decoding(numbers: np.random.Generator) -> list[Floats]:
    """Return the outputs of the engine's loops."""
    qkv = numbers.standard_normal((ROWS, (HEADS + 2 * KV_HEADS) * SIZE), np.float32)
    blocks = -(-POSITIONS // BLOCK)
    keys = numbers.standard_normal((ROWS * blocks, KV_HEADS, SIZE, BLOCK), np.float32)
    values = numbers.standard_normal((ROWS * blocks, KV_HEADS, BLOCK, SIZE), np.float32)
    table = np.arange(ROWS * blocks).reshape(ROWS, blocks)
    norms = numbers.standard_normal((HEADS + KV_HEADS, SIZE), np.float32)
    rotations = numbers.standard_normal((2, POSITIONS, SIZE // 2), np.float32)
    slots, positions = np.arange(ROWS), numbers.integers(1, POSITIONS, ROWS)
    normed, mixed = np.empty_like(qkv), np.empty((ROWS, HEADS * SIZE), np.float32)
    kernels.normalize(qkv, EPSILON, normed)
    kernels.cache_rows(qkv, norms, rotations, table[slots, positions // BLOCK], positions, EPSILON, keys, values)
    attention(HEADS, KV_HEADS, SIZE)(qkv, keys, values, table, slots, positions, mixed)
    kernels.copy_blocks(keys, table[:3, 0], table[3:6, 1])
    ids, logp, temperatures = np.empty(ROWS, np.int64), np.empty(ROWS, np.float32), np.ones(ROWS, np.float32)
    kernels.draw(qkv, slots, numbers.random(ROWS, np.float32), temperatures, ids, logp)
    kept = numbers.random((3, SIZE), np.float32)
    kernels.cut(kept, np.full(3, 0.7, np.float32), np.array([0, 5, 20]))
    return [normed, qkv, keys, values, mixed, ids.astype(np.float32), logp, kept]


def main() -> None:
    """Print the digest."""
    numbers = np.random.default_rng(0)
    made = [*training(numbers), *decoding(numbers)]
    print(hashlib.sha256(b"".join(array.tobytes() for array in made)).hexdigest())


if __name__ == "__main__":
    main()
