"""Heads of V0: classifiers fitted to a context whenever they predict. A score is a log-odds of success.

Labels are outcomes from 0 to 1. A head that needs classes takes those of at least 0.5 as successes.
"""

import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.algorithms.inputs import Floats

NEIGHBOURS = 16
"""Rows of the context that `knn` looks at."""
_CONSTANT = 1e-12
"""A feature whose variance is at most this has one value in the whole context."""


@dataclass(frozen=True)
class RidgeWeights:
    """The two numbers of the ridge head, which are trained with the adapter."""

    lam: float = 1.0  # weight of the penalty
    tau: float = 3.0  # factor from a least-squares score to a log-odds


def widened(context: Any, queries: Any, xp: Any = np) -> tuple[Any, Any]:
    """Return features [S, F] and [Q, F] with themselves beside them as they differ inside the context, 2 F in all.

    Those beside have mean 0 and variance 1 / F over the context; a feature with one value in the context is 0. Prompts
    often share a template, and what they have in common would hide what differs. Numpy arrays, or tensors with `xp`
    torch.
    """
    mean = context.mean(0)
    variance = ((context - mean) ** 2).mean(0)
    factor = 1.0 / (xp.sqrt(xp.where(variance > _CONSTANT, variance, math.inf)) * math.sqrt(context.shape[1]))
    return (xp.concatenate([context, (context - mean) * factor], 1),
            xp.concatenate([queries, (queries - mean) * factor], 1))


def ridge(context: Any, labels: Any, queries: Any, weights: Any, xp: Any = np) -> Any:
    """Return tau * [z_q, 1] w, w = A^T (A A^T + lam I)^-1 (2h - 1), h the labels, A the rows [z, 1]; [Q].

    `context` is [S, F], `labels` [S] from 0 to 1, `queries` [Q, F]. That w is (A^T A + lam I)^-1 A^T (2h - 1), solved
    in the smaller space. With lam = 0 it is the least-norm solution. Numpy arrays, or tensors with `xp` torch.
    """
    rows, asked = _with_bias(context, xp), _with_bias(queries, xp)
    targets = 2.0 * labels - 1.0
    if isinstance(weights.lam, float) and weights.lam == 0:
        return weights.tau * (asked @ (xp.linalg.pinv(rows) @ targets))
    gram = rows @ rows.T + weights.lam * xp.eye(len(rows), dtype=rows.dtype)
    return weights.tau * (asked @ (rows.T @ xp.linalg.solve(gram, targets)))


def _with_bias(rows: Any, xp: Any) -> Any:
    return xp.concatenate([rows, xp.ones((len(rows), 1), dtype=rows.dtype)], 1)


def knn(context: Floats, labels: Floats, queries: Floats, weights: RidgeWeights) -> Floats:
    """Return log(p / (1 - p)), p = (sum of labels + 1) / (k + 2) of the k context rows of highest cosine; [Q].

    k is 16, or all rows where there are fewer. Of equal cosines the earlier row counts.
    """
    k = min(NEIGHBOURS, len(context))
    near = np.argsort(-np.round(_unit(queries) @ _unit(context).T, 12), axis=1, kind="stable")[:, :k]
    positives: Floats = labels[near].sum(1)
    return log_odds((positives + 1.0) / (k + 2.0))


def log_odds(p: Floats) -> Floats:
    """Return log(p / (1 - p))."""
    odds: Floats = np.log(p) - np.log1p(-p)
    return odds


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return unit


def tabpfn(context: Floats, labels: Floats, queries: Floats, weights: RidgeWeights) -> Floats:
    """Return the log-odds of TabPFN, four ensemble members; [Q]. Its weights have a licence of their own.

    Raises ImportError where the package tabpfn is not installed.
    """
    from tabpfn import TabPFNClassifier

    fitted = TabPFNClassifier(n_estimators=4, device="cpu").fit(context, (labels >= 0.5).astype(np.int64))
    return log_odds(np.clip(fitted.predict_proba(queries)[:, 1], 1e-6, 1 - 1e-6))


Head = Callable[[Floats, Floats, Floats, RidgeWeights], Floats]

HEADS: Mapping[str, Head] = {"ridge": ridge, "knn": knn, "tabpfn": tabpfn}


def missing(name: str) -> str | None:
    """Return why a head cannot be used here; None if it can."""
    if name not in HEADS:
        return f"found {name!r}, expected one of {', '.join(HEADS)}"
    if name == "tabpfn" and importlib.util.find_spec("tabpfn") is None:
        return "tabpfn needs the package tabpfn, which is not installed here; mind the licence of its weights"
    return None
