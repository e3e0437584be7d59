"""Adapters of V0: the only trained part. They turn what a frozen embedder says about a prompt into features.

`queries` (the paper's) attends to the states of a prompt's tokens with 168 queries, static ones plus an offset that
depends on the prompt; `mlp` is for embedders that give one vector. Numpy arrays, or tensors with `xp` torch.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hone.text.erf import erf

QUERIES, WIDTH, HEADS = 168, 6, 3
"""Queries, width of each, and heads that attend."""
BOTTLENECK = 128
"""Width of the layer that makes the queries' offset."""
_EPSILON = 1e-5

Keep = Callable[[Any], Any]
"""Dropout while the adapter is trained; else nothing."""


def keep(values: Any) -> Any:
    """Return values as they are."""
    return values


def queries(
    weights: Mapping[str, Any], vectors: Any, states: Any, real: Any, xp: Any = np, drop: Keep = keep
) -> Any:
    """Return features [N, 168 * 6] of prompts.

    `vectors` [N, D] are the prompts' own, `states` [N, L, D] are of tokens, where `real` [N, L] says so.
    """
    hidden = _norm(_linear(weights, "down", vectors), weights, "down_norm", xp)
    offset = _linear(weights, "up", drop(_gelu(hidden, xp)))
    asked = weights["queries"] + offset.reshape(len(vectors), QUERIES, WIDTH)
    held = _times(states, weights["kv.weight"])
    query = _split(_linear(weights, "query", _norm(asked, weights, "query_norm", xp)), xp)
    key = _split(_linear(weights, "key", _norm(held, weights, "key_norm", xp)), xp)
    value = _split(_linear(weights, "value", held), xp)
    match = query @ xp.swapaxes(key, 2, 3) / math.sqrt(WIDTH // HEADS)
    match = xp.where(real[:, None, None, :], match, -xp.ones_like(match) * 1e30)
    shares = xp.exp(match - xp.amax(match, -1, keepdims=True))
    seen = shares @ value / shares.sum(-1, keepdims=True)
    joined = xp.swapaxes(seen, 1, 2).reshape(len(vectors), QUERIES, WIDTH)
    return _linear(weights, "out", joined).reshape(len(vectors), QUERIES * WIDTH)


def mlp(weights: Mapping[str, Any], vectors: Any, xp: Any = np, drop: Keep = keep) -> Any:
    """Return features [N, D + F] of vectors [N, D]: the vectors, scaled, and F numbers behind a layer with GELU.

    What no training policy was good or bad at is left in the vectors themselves.
    """
    made = _linear(weights, "up", drop(_gelu(_linear(weights, "down", vectors), xp)))
    return xp.concatenate([vectors * weights["skip"], made], 1)


def initial_queries(width: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return weights of `queries` for states of a width. The offset starts at zero."""
    made = {"queries": rng.normal(0.0, 1.0, (QUERIES, WIDTH)), "kv.weight": _uniform(rng, WIDTH, width),
            "down.weight": _uniform(rng, BOTTLENECK, width), "down.bias": np.zeros(BOTTLENECK),
            "up.weight": np.zeros((QUERIES * WIDTH, BOTTLENECK)), "up.bias": np.zeros(QUERIES * WIDTH)}
    for name in ("query", "key", "value", "out"):
        made |= {f"{name}.weight": _uniform(rng, WIDTH, WIDTH), f"{name}.bias": np.zeros(WIDTH)}
    for name, size in (("down_norm", BOTTLENECK), ("query_norm", WIDTH), ("key_norm", WIDTH)):
        made |= {f"{name}.weight": np.ones(size), f"{name}.bias": np.zeros(size)}
    return {name: values.astype(np.float32) for name, values in made.items()}


def initial_mlp(width: int, hidden: int, features: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return weights of `mlp`. It starts with the vectors, of length 1, and little beside them.

    Not with nothing: a feature that is zero everywhere has no gradient in a ridge head.
    """
    made = {"skip": np.full(width, width ** -0.5), "down.weight": _uniform(rng, hidden, width),
            "down.bias": np.zeros(hidden), "up.weight": _uniform(rng, features, hidden) * features ** -0.5,
            "up.bias": np.zeros(features)}
    return {name: values.astype(np.float32) for name, values in made.items()}


def _uniform(rng: np.random.Generator, rows: int, columns: int) -> Any:
    most = math.sqrt(3.0 / columns)
    return rng.uniform(-most, most, (rows, columns))


def _linear(weights: Mapping[str, Any], name: str, values: Any) -> Any:
    return _times(values, weights[f"{name}.weight"]) + weights[f"{name}.bias"]


def _times(values: Any, weight: Any) -> Any:
    """Return values @ weight.T. Numpy multiplies stacks of rows far slower than their rows one below the other."""
    return (values.reshape(-1, weight.shape[1]) @ weight.T).reshape(*values.shape[:-1], len(weight))


def _norm(values: Any, weights: Mapping[str, Any], name: str, xp: Any) -> Any:
    centred = values - values.mean(-1, keepdims=True)
    spread = (centred * centred).mean(-1, keepdims=True)
    return centred / xp.sqrt(spread + _EPSILON) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _gelu(values: Any, xp: Any) -> Any:
    return 0.5 * values * (1.0 + (erf if xp is np else xp.erf)(values / math.sqrt(2.0)))


def _split(values: Any, xp: Any) -> Any:
    """Return [N, R, 6] as [N, heads, R, 2]."""
    return xp.swapaxes(values.reshape(len(values), -1, HEADS, WIDTH // HEADS), 1, 2)
