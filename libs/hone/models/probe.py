"""The probe: a fixed sequence whose log-probabilities show whether two forwards compute the same policy.

    probe = expected(policy)           by the trainer's own forward; a version's manifest keeps it as `probe`
    gap = probe.gap(answered)          distance of an engine's log-probs from it, nats
    probe.cut(positions)               the probe for an engine with fewer positions

The ids depend on the vocabulary alone, so that all versions of a model have the same. They are just longer than a block
of any engine's prefix cache, so that the cache is checked too. More would cost time: every step computes them twice.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hone.models.architecture import Architecture
from hone.models.policy import Policy
from hone.trajectory.microbatches import cut
from hone.trajectory.packing import sequences

_LENGTH = 40
_DIGITS = 6
"""Decimals of a stored log-prob. The last is a thousandth of the usual tolerance."""


@dataclass(frozen=True)
class Gap:
    """Absolute differences of log-probs, nats."""

    largest: float
    mean: float


@dataclass(frozen=True)
class Probe:
    """Sequences, and the log-prob in nats of every token but the first of each."""

    ids: list[list[int]]
    logp: list[list[float]]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Probe":
        """Return the probe that `to_json` wrote. Raises KeyError for any other value."""
        return cls(value["ids"], value["logp"])

    def to_json(self) -> dict[str, Any]:
        """Return the probe as plain data, with log-probs rounded to a millionth."""
        return {"ids": self.ids, "logp": [[round(value, _DIGITS) for value in row] for row in self.logp]}

    def cut(self, positions: int) -> "Probe":
        """Return the probe with the first `positions` tokens of each sequence: later tokens change no log-prob."""
        return Probe([row[:positions] for row in self.ids], [row[:positions - 1] for row in self.logp])

    def gap(self, answered: Sequence[Sequence[float]]) -> Gap:
        """Return the distance of log-probs from those of the probe; infinite if one of them is not a finite number.

        Raises ValueError when the numbers of log-probs differ.
        """
        pairs = [pair for ours, theirs in zip(self.logp, answered, strict=True)
                 for pair in zip(ours, theirs, strict=True)]
        distances = [abs(ours - theirs) for ours, theirs in pairs]
        if not all(map(math.isfinite, distances)):
            return Gap(math.inf, math.inf)
        return Gap(max(distances), sum(distances) / len(distances))


def expected(policy: Policy) -> Probe:
    """Return the probe of a policy's weights as they are now."""
    asked = ids(policy.architecture)
    return Probe(asked, logp(policy, asked))


def ids(architecture: Architecture) -> list[list[int]]:
    """Return the sequences that all versions of a model are asked."""
    random = np.random.Generator(np.random.PCG64(0))
    return [random.integers(0, architecture.vocab_size, min(_LENGTH, architecture.max_positions)).tolist()]


def logp(policy: Policy, rows: Sequence[Sequence[int]], temperature: float = 1.0) -> list[list[float]]:
    """Return the policy's log-prob of every token but the first of each row, nats."""
    batch = sequences([list(row) for row in rows])
    flat = np.empty(sum(len(row) - 1 for row in rows))
    with torch.no_grad():
        for micro in cut(batch, np.ones(len(rows), np.bool_), sum(map(len, rows))):
            flat[micro.token] = policy(micro, temperature)[0].numpy()
    ends = np.cumsum([len(row) - 1 for row in rows])
    return [part.tolist() for part in np.split(flat, ends[:-1])]
