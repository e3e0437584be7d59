"""Fitted models as plain numbers: boosted trees, a logistic model, and their calibration. Nothing is unpickled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hone.audiences.anchoring import sigmoid
from hone.audiences.columns import Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Tree:
    """A regression tree in arrays [M], one entry a node. A leaf has -1 as its left child."""

    left: Integers
    right: Integers
    column: Integers
    bound: Floats
    value: Floats

    def predict(self, rows: Floats) -> Floats:
        """Return the value of the leaf of each row [N, F]. As they were fitted, columns are compared as float32."""
        nodes, compared = np.zeros(len(rows), np.int64), rows.astype(np.float32)
        while (inner := self.left[nodes] >= 0).any():
            goes_left = compared[np.arange(len(rows)), np.maximum(self.column[nodes], 0)] <= self.bound[nodes]
            nodes = np.where(inner, np.where(goes_left, self.left[nodes], self.right[nodes]), nodes)
        return np.asarray(self.value[nodes])

    def as_json(self) -> dict[str, Any]:
        return {name: array.tolist() for name, array in vars(self).items()}


@dataclass(frozen=True)
class Model:
    """Log-odds of one step: intercept + weights x columns + the sum of trees, then sigmoid(slope x that + shift)."""

    intercept: float
    weights: Floats  # [F], zeros where trees alone speak
    trees: Sequence[Tree]
    slope: float = 1.0
    shift: float = 0.0

    def log_odds(self, rows: Floats) -> Floats:
        """Return uncalibrated log-odds of rows [N, F]."""
        return np.asarray(self.intercept + rows @ self.weights + sum(
            (tree.predict(rows) for tree in self.trees), start=np.zeros(len(rows))))

    def predict(self, rows: Floats) -> Floats:
        """Return probabilities of rows [N, F]."""
        return sigmoid(self.slope * self.log_odds(rows) + self.shift)

    def as_json(self) -> dict[str, Any]:
        return {"intercept": self.intercept, "weights": self.weights.tolist(), "slope": self.slope,
                "shift": self.shift, "trees": [tree.as_json() for tree in self.trees]}


def of_json(stored: Mapping[str, Any]) -> Model:
    """Return a stored model. Raises KeyError, TypeError, ValueError for what is none."""
    return Model(float(stored["intercept"]), np.array(stored["weights"], np.float64),
                 [_tree(one) for one in stored["trees"]], float(stored["slope"]), float(stored["shift"]))


def _tree(stored: Mapping[str, Any]) -> Tree:
    left, right, column = (np.array(stored[name], np.int64) for name in ("left", "right", "column"))
    return Tree(left, right, column, np.array(stored["bound"], np.float64), np.array(stored["value"], np.float64))
