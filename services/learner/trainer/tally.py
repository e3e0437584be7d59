"""Figures of micro-batches brought together, over ranks too."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from hone.algorithms.method import Metrics


@dataclass
class Tally:
    """Figures of micro-batches brought together: sums, means weighted by tokens, and largest values."""

    loss: float = 0.0
    forward_tokens: int = 0
    _sums: dict[str, float] = field(default_factory=dict)
    _weights: dict[str, float] = field(default_factory=dict)
    _largest: dict[str, float] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """Return it as JSON, for other ranks."""
        return json.dumps([self.loss, self.forward_tokens, self._sums, self._weights, self._largest]).encode()

    @classmethod
    def joined(cls, told: Iterable[bytes]) -> "Tally":
        """Return the tally of all micro-batches from those of every rank, as `as_bytes` wrote them."""
        whole = cls()
        for loss, tokens, sums, weights, largest in map(json.loads, told):
            whole.loss, whole.forward_tokens = whole.loss + loss, whole.forward_tokens + tokens
            for name, weight in weights.items():
                whole._sums[name] = whole._sums.get(name, 0.0) + sums[name]
                whole._weights[name] = whole._weights.get(name, 0.0) + weight
            for name, value in largest.items():
                whole._largest[name] = max(value, whole._largest.get(name, value))
        return whole

    def add(self, metrics: Metrics, tokens: int) -> None:
        """Take in the figures of `tokens` tokens."""
        for name, value in metrics.items():
            if name.endswith("max"):
                self._largest[name] = max(value, self._largest.get(name, value))
            else:
                self._sums[name] = self._sums.get(name, 0.0) + value * tokens
                self._weights[name] = self._weights.get(name, 0.0) + tokens

    def figures(self) -> Metrics:
        """Return every sum, mean and largest value by name."""
        means = {name: total / self._weights[name] for name, total in self._sums.items()}
        return {"loss": self.loss, "forward_tokens": float(self.forward_tokens), **means, **self._largest}
