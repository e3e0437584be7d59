"""What is asked when ids are to be scored, what comes back, and how much of it is computed at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

BATCH = 16
_BATCH_IDS = 2048
"""Items, and ids of them, scored between two decode steps."""


@dataclass(frozen=True)
class Item:
    """Ids to score after a context of at least one id."""

    context_ids: tuple[int, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Scored:
    """Log-prob of each id and entropy in nats of the distribution it was scored under."""

    logp: list[float]
    entropy: list[float]


def batches(items: list[Item]) -> Iterator[list[Item]]:
    """Cut items into lists of at most `BATCH`, of so few ids that decoding does not wait for long."""
    batch: list[Item] = []
    for item in items:
        ids = sum(len(one.context_ids) + len(one.ids) for one in [*batch, item])
        if batch and (len(batch) == BATCH or ids > _BATCH_IDS):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
