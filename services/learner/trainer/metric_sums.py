"""Metrics of an update, summed over its micro-batches and over ranks."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from hone.algorithms.method import Metrics

_PERCENTILES = (5, 50, 95)


@dataclass
class MetricSums:
    """Metrics of micro-batches, summed: sums, means weighted by tokens, maxima, and percentiles."""

    loss: float = 0.0
    forward_tokens: int = 0
    _sums: dict[str, float] = field(default_factory=dict)
    _weights: dict[str, float] = field(default_factory=dict)
    _largest: dict[str, float] = field(default_factory=dict)
    _spread: dict[str, list[float]] = field(default_factory=dict)
    _shares: dict[str, float] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """Return the sums as JSON, for other ranks."""
        fields = [self.loss, self.forward_tokens, self._sums, self._weights, self._largest, self._spread, self._shares]
        return json.dumps(fields).encode()

    @classmethod
    def joined(cls, of_ranks: Iterable[bytes]) -> "MetricSums":
        """Return the sums over all ranks from each rank's `as_bytes`."""
        whole = cls()
        for loss, tokens, sums, weights, largest, spread, shares in map(json.loads, of_ranks):
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
        """Add the metrics of `tokens` tokens: names that end in `max` are maxima, all others means over the tokens."""
        for name, value in metrics.items():
            if name.endswith("max"):
                self._largest[name] = max(value, self._largest.get(name, value))
            else:
                self._sums[name] = self._sums.get(name, 0.0) + value * tokens
                self._weights[name] = self._weights.get(name, 0.0) + tokens

    def share(self, name: str, loss: Tensor) -> Tensor:
        """Add a micro-batch's share of a term of the loss to the term's sum, and return the share."""
        self._shares[name] = self._shares.get(name, 0.0) + float(loss.detach())
        return loss

    def spread(self, name: str, values: Tensor) -> None:
        """Add a micro-batch's values [M], whose percentiles become metrics."""
        self._spread.setdefault(name, []).extend(values.tolist())

    def metrics(self) -> Metrics:
        """Return every sum, mean, maximum and percentile by name."""
        means = {name: total / self._weights[name] for name, total in self._sums.items()}
        percentiles = {f"{name}_p{percent:02d}": float(np.percentile(values, percent))
                       for name, values in self._spread.items() for percent in _PERCENTILES}
        return {"loss": self.loss, "forward_tokens": float(self.forward_tokens), **means, **self._largest,
                **percentiles, **self._shares}
