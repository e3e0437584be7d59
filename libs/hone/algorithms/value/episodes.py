"""Training episodes of V0: chunks of pairs of one policy's prompts, each with a context of the same policy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.value.predicting import CONTEXT_ROWS

CHUNK = 8
"""Queries of an episode in training."""


@dataclass(frozen=True)
class Key:
    """The outcomes of one policy at one step on the prompts of one data set."""

    policy: str  # with its step
    family: str  # of the prompts
    prompts: Ints  # [N], places in a table of prompts
    outcomes: Floats  # [N], from 0 to 1


@dataclass(frozen=True)
class Episode:
    """Queries in pairs, [success, failure, …], and the context that they are predicted from."""

    queries: Ints  # [B], places in a table of prompts
    outcomes: Floats  # [B]
    weights: Floats  # [B], of the queries' classes
    context: Ints  # [S]
    context_outcomes: Floats  # [S]


def pairs(outcomes: Floats, rng: np.random.Generator) -> Ints:
    """Return places [success, failure, success, failure, …] of outcomes, shuffled, the rarer class cycled.

    A success is an outcome of at least 0.5. Empty where one class is missing.
    """
    positives, negatives = np.flatnonzero(outcomes >= 0.5), np.flatnonzero(outcomes < 0.5)
    if not len(positives) or not len(negatives):
        return np.zeros(0, np.int64)
    count = max(len(positives), len(negatives))
    both = [np.resize(rng.permutation(side), count) for side in (positives, negatives)]
    return np.stack(both, 1).ravel()


def class_weights(outcomes: Floats) -> Floats:
    """Return n / (2 n_class) of each outcome's class, over a key's outcomes before pairs are made; [N]."""
    hard = outcomes >= 0.5
    counts = np.where(hard, hard.sum(), (~hard).sum())
    weights: Floats = len(outcomes) / (2.0 * counts)
    return weights


def epoch(
    keys: Sequence[Key], rng: np.random.Generator, size: int = CONTEXT_ROWS, chunk: int = CHUNK
) -> Iterator[Episode]:
    """Yield the episodes of an epoch, in random order.

    A context is drawn from the other rows of the key; where they have one class, from all rows of the policy. Keys with
    one class are left out, and episodes whose context has one class.
    """
    chunks = [(key, order[place:place + chunk]) for key in keys for order in [pairs(key.outcomes, rng)]
              for place in range(0, len(order), chunk)]
    for turn in rng.permutation(len(chunks)):
        key, picked = chunks[turn]
        context = _context(key, keys, picked, rng, size)
        hard = context.outcomes >= 0.5
        if hard.any() and not hard.all():
            yield Episode(key.prompts[picked], key.outcomes[picked], class_weights(key.outcomes)[picked],
                          context.prompts, context.outcomes)


def _context(key: Key, keys: Sequence[Key], picked: Ints, rng: np.random.Generator, size: int) -> Key:
    """Return at most `size` rows of the key that are no queries."""
    found = _drawn([key], key.prompts[picked], rng, size)
    hard = found.outcomes >= 0.5
    if hard.any() and not hard.all():
        return found
    return _drawn([one for one in keys if one.policy == key.policy], key.prompts[picked], rng, size)


def _drawn(keys: Sequence[Key], queries: Ints, rng: np.random.Generator, size: int) -> Key:
    prompts = np.concatenate([key.prompts for key in keys])
    outcomes = np.concatenate([key.outcomes for key in keys])
    others = np.flatnonzero(~np.isin(prompts, queries))
    rows = rng.permutation(others)[:size]
    return Key(keys[0].policy, keys[0].family, prompts[rows], outcomes[rows])
