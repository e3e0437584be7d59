"""Heads of V0: classifiers fitted to a context whenever they predict. A score is a log-odds of success."""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.algorithms.inputs import Floats

NEIGHBOURS = 16
"""Rows of the context that `knn` looks at."""


@dataclass(frozen=True)
class RidgeWeights:
    """The two numbers of the ridge head, which are trained with the adapter."""

    lam: float = 1.0  # weight of the penalty
    tau: float = 3.0  # factor from a least-squares score to a log-odds


def ridge(context: Any, labels: Any, queries: Any, weights: Any, xp: Any = np) -> Any:
    """Return tau * [z_q, 1] w, w = A^T (A A^T + lam I)^-1 (2h - 1), A the rows [z, 1] of the context; [Q].

    `context` is [S, F], `labels` [S] of 0 and 1, `queries` [Q, F]. That w is (A^T A + lam I)^-1 A^T (2h - 1), solved in
    the smaller space. With lam = 0 it is the least-norm solution. Numpy arrays, or tensors with `xp` torch.
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
    """Return log(p / (1 - p)), p = (n_pos + 1) / (k + 2) of the k context rows of highest cosine; [Q].

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

    fitted = TabPFNClassifier(n_estimators=4, device="cpu").fit(context, labels.astype(np.int64))
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
