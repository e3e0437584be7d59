"""What is asked when ids are to be scored, what comes back, and how much of it is computed at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hone.api import inference_pb2 as pb
from services.inference.requests import expect, expect_temperature

LARGEST_TOP_K = 64
"""Most of the likeliest ids that a score may ask for at one position."""
BATCH = 16
_BATCH_IDS = 2048
"""Items, and ids of them, scored between two decode steps."""


@dataclass(frozen=True)
class ScoreItem:
    """Ids to score after a context of at least one id."""

    context_ids: tuple[int, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Scored:
    """Log-prob of each id and entropy in nats of the distribution it was scored under, and its likeliest ids."""

    logp: list[float] = field(default_factory=list)
    entropy: list[float] = field(default_factory=list)
    top_ids: list[int] = field(default_factory=list)  # the top_k likeliest, likeliest first, place after place
    top_logp: list[float] = field(default_factory=list)  # theirs

    def extend(self, later: "Scored") -> None:
        """Add what is said of the ids that follow."""
        self.logp.extend(later.logp)
        self.entropy.extend(later.entropy)
        self.top_ids.extend(later.top_ids)
        self.top_logp.extend(later.top_logp)


def read_items(message: pb.ScoreRequest, positions: int) -> list[ScoreItem]:
    """Return what is to be scored. Raises InvalidField."""
    expect(bool(message.model_id), "model_id", message.model_id, "the id of a model")
    expect_temperature("temperature", message.temperature)
    expect(0 <= message.top_k <= LARGEST_TOP_K, "top_k", message.top_k, f"0 to {LARGEST_TOP_K}")
    for number, item in enumerate(message.items):
        length = len(item.context_ids) + len(item.ids)
        expect(bool(item.context_ids), f"items[{number}].context_ids", [], "at least one id")
        expect(length <= positions, f"items[{number}].ids", f"{length} ids with their context", f"at most {positions}")
    return [ScoreItem(tuple(item.context_ids), tuple(item.ids)) for item in message.items]


def check_top_k(top_k: int, vocabulary: int) -> None:
    """Refuse to tell more ids than there are. Raises InvalidField."""
    expect(top_k <= vocabulary, "top_k", top_k, f"at most {vocabulary}: the vocabulary")


def item_message(found: Scored) -> pb.ScoredItem:
    """Return what is said of one item as a message."""
    return pb.ScoredItem(
        logp=found.logp, entropy=found.entropy, top_ids=found.top_ids, top_logp=found.top_logp)


def likeliest(logp: NDArray[np.float32], top_k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the `top_k` likeliest ids of each row of log-probs [rows, vocabulary], and theirs: [rows, top_k] each.

    Likeliest first; of equal ones the lower id. `top_k` is at most the vocabulary.
    """
    if not top_k:
        return np.empty((len(logp), 0), np.int64), logp[:, :0]
    # The bits of floats that are not negative are ordered as they are: with the id below them nothing is tied.
    keys = (np.abs(logp).view(np.int32).astype(np.int64) << 32) | np.arange(logp.shape[1])
    first = np.sort(np.partition(keys, top_k - 1, axis=1)[:, :top_k], axis=1)
    ids = first & 0xFFFFFFFF
    return ids, np.take_along_axis(logp, ids, axis=1)


def batches(items: list[ScoreItem]) -> Iterator[list[ScoreItem]]:
    """Cut items into lists of at most `BATCH`, of so few ids that decoding does not wait for long."""
    batch: list[ScoreItem] = []
    for item in items:
        ids = sum(len(one.context_ids) + len(one.ids) for one in [*batch, item])
        if batch and (len(batch) == BATCH or ids > _BATCH_IDS):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
