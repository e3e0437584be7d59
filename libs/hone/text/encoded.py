"""Texts as numbers: what an embedder of any kind returns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Encoded:
    """Vectors of an embedder for N texts."""

    vectors: NDArray[np.float64]  # [N, D], each of length 1
    states: NDArray[np.floating[Any]] | None = None  # [N, L, D], of their tokens; None: the embedder has none
    real: NDArray[np.bool_] | None = None  # [N, L], which states are of tokens
    tokens: NDArray[np.int64] | None = None  # [N], tokens of each as the embedder counts them; None: it does not say
    used: int | None = None  # tokens of all, where it counts them together
