"""The compiled loops of `policy_operators`: each formula and its gradient is one pass over float32 rows."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hone.models.compiled import INLINED, ONE, OPTIONS, ZERO, exponential, norm_scale

Floats = NDArray[np.float32]


@njit(**OPTIONS)
def rms_norm(x: Floats, weight: Floats, eps: np.float32, out: Floats, scale: Floats) -> None:
    """Write scale · x · weight to `out` [N, size], and 1 / sqrt(mean(x^2) + eps) of each row of `x` to `scale` [N]."""
    size = x.shape[1]
    for row in range(len(x)):
        factor = scale[row] = norm_scale(x[row], size, eps)
        for place in range(size):
            out[row, place] = x[row, place] * factor * weight[place]


@njit(**OPTIONS)
def rms_norm_gradient(direct: Floats, gradient: Floats, x: Floats, weight: Floats, scale: Floats, for_x: Floats,
                      for_weight: Floats) -> None:
    """Write the gradient of `x` and add the gradient of `weight`, from those of x as output and of `out`, [N, size]."""
    for row in range(len(x)):
        _norm_gradient(gradient[row], x[row], weight, scale[row], for_x[row], for_weight)
        for place in range(x.shape[1]):
            for_x[row, place] += direct[row, place]


@njit(**OPTIONS)
def heads(flat: Floats, norms: Floats, cos: Floats, sin: Floats, eps: np.float32, query: Floats, key: Floats,
          value: Floats, scale: Floats) -> None:
    """Cut `flat` [N, (H + 2 K) · size] into queries [N, H, size], keys and values [N, K, size]; norm and rotate.

    `norms` [H + K, size], or no rows; `cos` and `sin` [N, size / 2]. The norms' factors are written to `scale`
    [N, H + K].
    """
    queries, size = query.shape[1], query.shape[2]
    turned = queries + key.shape[1]
    normed = np.empty(size, np.float32)
    for row in range(len(flat)):
        for head in range(turned):
            start = head * size
            factor = ONE
            if len(norms):
                factor = norm_scale(flat[row, start:start + size], size, eps)
            scale[row, head] = factor
            for place in range(size):
                normed[place] = flat[row, start + place] * factor
            if len(norms):
                for place in range(size):
                    normed[place] *= norms[head, place]
            target = query[row, head] if head < queries else key[row, head - queries]
            _rotate(normed, cos[row], sin[row], ONE, target)
        for head in range(value.shape[1]):
            for place in range(size):
                value[row, head, place] = flat[row, (turned + head) * size + place]


@njit(**OPTIONS)
def heads_gradient(for_query: Floats, for_key: Floats, for_value: Floats, flat: Floats, norms: Floats, cos: Floats,
                   sin: Floats, scale: Floats, for_flat: Floats, for_norms: Floats) -> None:
    """Write the gradient of `flat` and add the gradient of `norms`, from the gradients of the outputs of `heads`."""
    queries, size = for_query.shape[1], for_query.shape[2]
    turned = queries + for_key.shape[1]
    back = np.empty(size, np.float32)
    for row in range(len(flat)):
        for head in range(turned):
            start = head * size
            target = for_flat[row, start:start + size]
            source = for_query[row, head] if head < queries else for_key[row, head - queries]
            _rotate(source, cos[row], sin[row], -ONE, back)
            if len(norms):
                _norm_gradient(back, flat[row, start:start + size], norms[head], scale[row, head], target,
                               for_norms[head])
            else:
                for place in range(size):
                    target[place] = back[place]
        for head in range(for_value.shape[1]):
            for place in range(size):
                for_flat[row, (turned + head) * size + place] = for_value[row, head, place]


@njit(**OPTIONS)
def gated(gate: Floats, up: Floats, out: Floats) -> None:
    """Write silu(gate) · up, all [N, size]."""
    size = gate.shape[1]
    sigmoid, powers = np.empty(size, np.float32), np.empty(size, np.int32)
    for row in range(len(gate)):
        _sigmoids(gate[row], sigmoid, powers)
        for place in range(size):
            out[row, place] = gate[row, place] * sigmoid[place] * up[row, place]


@njit(**OPTIONS)
def gated_gradient(gradient: Floats, gate: Floats, up: Floats, for_gate: Floats, for_up: Floats) -> None:
    """Write the gradients of `gate` and `up` from the gradient of the output, all [N, size]."""
    size = gate.shape[1]
    sigmoid, powers = np.empty(size, np.float32), np.empty(size, np.int32)
    for row in range(len(gate)):
        _sigmoids(gate[row], sigmoid, powers)
        for place in range(size):
            silu = gate[row, place] * sigmoid[place]
            slope = sigmoid[place] + silu * (ONE - sigmoid[place])
            for_up[row, place] = gradient[row, place] * silu
            for_gate[row, place] = gradient[row, place] * up[row, place] * slope


@njit(**OPTIONS)
def added(rows: Floats, places: NDArray[np.int64], out: Floats) -> None:
    """Add each of `rows` [M, size] to the row of `out` [N, size] at its index in `places`."""
    size = rows.shape[1]
    for row in range(len(rows)):
        target = out[places[row]]
        for place in range(size):
            target[place] += rows[row, place]


@njit(**INLINED)
def _norm_gradient(gradient: Floats, x: Floats, weight: Floats, scale: np.float32, for_x: Floats,
                   for_weight: Floats) -> None:
    size, projection = len(x), ZERO
    for place in range(size):
        projection += gradient[place] * weight[place] * x[place]
    projection *= scale * scale / np.float32(size)
    for place in range(size):
        for_weight[place] += gradient[place] * x[place] * scale
        for_x[place] = scale * (gradient[place] * weight[place] - x[place] * projection)


@njit(**INLINED)
def _rotate(x: Floats, cos: Floats, sin: Floats, direction: np.float32, out: Floats) -> None:
    half = len(cos)
    for place in range(half):
        first, second, turn = x[place], x[place + half], sin[place] * direction
        out[place] = first * cos[place] - second * turn
        out[place + half] = second * cos[place] + first * turn


@njit(**INLINED)
def _sigmoids(x: Floats, out: Floats, powers: NDArray[np.int32]) -> None:
    """Write 1 / (1 + e^-x) of each number. It is computed from e^-|x|, which does not overflow."""
    for place in range(len(x)):
        out[place], powers[place] = exponential(-abs(x[place]))
    factors = powers.view(np.float32)
    for place in range(len(x)):
        small = out[place] * factors[place]
        above = ONE / (ONE + small)
        out[place] = above if x[place] >= ZERO else small * above
