"""Figures of micro-batches brought together, over ranks too."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from hone.algorithms.method import Metrics

_SHARES = (5, 50, 95)
"""Percent of the values that lie below the quantiles that are told."""


@dataclass
class MetricSums:
    """Figures of micro-batches brought together: sums, means weighted by tokens, and largest values."""

    loss: float = 0.0
    forward_tokens: int = 0
    _sums: dict[str, float] = field(default_factory=dict)
    _weights: dict[str, float] = field(default_factory=dict)
    _largest: dict[str, float] = field(default_factory=dict)
    _spread: dict[str, list[float]] = field(default_factory=dict)
    _shares: dict[str, float] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """Return it as JSON, for other ranks."""
        told = [self.loss, self.forward_tokens, self._sums, self._weights, self._largest, self._spread,
                self._shares]
        return json.dumps(told).encode()

    @classmethod
    def joined(cls, told: Iterable[bytes]) -> "MetricSums":
        """Return the sums of all micro-batches from those of every rank, as `as_bytes` wrote them."""
        whole = cls()
        for loss, tokens, sums, weights, largest, spread, shares in map(json.loads, told):
            whole.loss, whole.forward_tokens = whole.loss + loss, whole.forward_tokens + tokens
            for name, weight in weights.items():
                whole._sums[name] = whole._sums.get(name, 0.0) + sums[name]
                whole._weights[name] = whole._weights.get(name, 0.0) + weight
            for name, value in largest.items():
                whole._largest[name] = max(value, whole._largest.get(name, value))
            for name, values in spread.items():
                whole._spread.setdefault(name, []).extend(values)
            for name, value in shares.items():
                whole._shares[name] = whole._shares.get(name, 0.0) + value
        return whole

    def add(self, metrics: Metrics, tokens: int) -> None:
        """Take in the figures of `tokens` tokens."""
        for name, value in metrics.items():
            if name.endswith("max"):
                self._largest[name] = max(value, self._largest.get(name, value))
            else:
                self._sums[name] = self._sums.get(name, 0.0) + value * tokens
                self._weights[name] = self._weights.get(name, 0.0) + tokens

    def share(self, name: str, part: Tensor) -> Tensor:
        """Take in a micro-batch's share of a term of the loss, which is their sum; return it."""
        self._shares[name] = self._shares.get(name, 0.0) + float(part.detach())
        return part

    def spread(self, name: str, values: Tensor) -> None:
        """Take in each of a micro-batch's values [M], of which quantiles are told."""
        self._spread.setdefault(name, []).extend(values.tolist())

    def figures(self) -> Metrics:
        """Return every sum, mean, largest value and quantile by name."""
        means = {name: total / self._weights[name] for name, total in self._sums.items()}
        quantiles = {f"{name}_p{share:02d}": float(np.percentile(values, share))
                     for name, values in self._spread.items() for share in _SHARES}
        return {"loss": self.loss, "forward_tokens": float(self.forward_tokens), **means, **self._largest, **quantiles,
                **self._shares}
