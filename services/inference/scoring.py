"""Scores of given ids: the items to score, their scores, their messages, and the batches they are computed in."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hone.api import inference_pb2 as pb
from services.inference.requests import ENGINE, LARGEST_TOP_K, expect, expect_temperature

BATCH = 16
_BATCH_IDS = 2048
"""Most items, and most ids of them together, that are scored between two decode steps."""
_ID = 0xFFFFFFFF


@dataclass(frozen=True)
class ScoreItem:
    """Ids to score, and the context before them of at least one id."""

    context_ids: tuple[int, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Scored:
    """The scores of an item, in nats: each id's log-prob, and the entropy and likeliest ids of its distribution."""

    logp: list[float] = field(default_factory=list)
    entropy: list[float] = field(default_factory=list)
    top_ids: list[int] = field(default_factory=list)  # `top_k` for each id, the likeliest first
    top_logp: list[float] = field(default_factory=list)  # log-probs of `top_ids`

    def extend(self, later: "Scored") -> None:
        """Append the scores of the ids that follow."""
        self.logp.extend(later.logp)
        self.entropy.extend(later.entropy)
        self.top_ids.extend(later.top_ids)
        self.top_logp.extend(later.top_logp)


def read_items(message: pb.ScoreRequest, positions: int) -> list[ScoreItem]:
    """Read the items of a message. Raises InvalidField."""
    expect(bool(message.model_id), "model_id", message.model_id, "the id of a model")
    expect_temperature("temperature", message.temperature)
    expect(0 <= message.top_k <= LARGEST_TOP_K, "top_k", message.top_k, f"0 to {LARGEST_TOP_K}")
    for number, item in enumerate(message.items):
        expect(bool(item.context_ids), f"items[{number}].context_ids", [], "at least one id")
    items = [ScoreItem(tuple(item.context_ids), tuple(item.ids)) for item in message.items]
    check_room(items, positions, ENGINE)
    return items


def check_room(items: list[ScoreItem], positions: int, whose: str) -> None:
    """Refuse items of more ids than `positions`. Raises InvalidField."""
    for number, item in enumerate(items):
        length = len(item.context_ids) + len(item.ids)
        expect(length <= positions, f"items[{number}].ids", f"{length} ids with their context",
               f"at most {positions}: the positions of {whose}")


def check_top_k(top_k: int, vocabulary: int) -> None:
    """Refuse a `top_k` above the number of ids that exist. Raises InvalidField."""
    expect(top_k <= vocabulary, "top_k", top_k, f"at most {vocabulary}: the vocabulary")


def item_message(found: Scored) -> pb.ScoredItem:
    """Return the scores of one item as a message."""
    return pb.ScoredItem(
        logp=found.logp, entropy=found.entropy, top_ids=found.top_ids, top_logp=found.top_logp)


def likeliest(logp: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    """Return the likeliest ids of each row of `logp` [rows, vocabulary] and their log-probs, both [rows, top_k].

    The likeliest is first; of two equally likely ids the lower one. `top_k` is at most the vocabulary.
    """
    if not top_k:
        return logp.new_empty(len(logp), 0, dtype=torch.int64), logp[:, :0]
    top, ids = logp.topk(top_k)
    cut = (logp >= top[:, -1:]).sum(-1) > top_k  # some of the ids that are as likely as the last one were left out
    if cut.any():
        whole = torch.arange(logp.shape[1], device=logp.device)
        ids[cut] = _order(logp[cut], whole).topk(top_k, largest=False).values & _ID
    ids = _order(logp.gather(1, ids), ids).sort(-1).values & _ID
    return ids, logp.gather(1, ids)


def _order(logp: Tensor, ids: Tensor) -> Tensor:
    """Return numbers that are ordered like log-probs, the likeliest first, and of equal ones like ids."""
    # Non-negative floats are ordered like their bits. The id in the lower bits breaks ties.
    return (logp.abs().view(torch.int32).to(torch.int64) << 32) | ids


def batches(items: list[ScoreItem]) -> Iterator[list[ScoreItem]]:
    """Cut items into batches that are small enough for decoding not to wait long."""
    batch: list[ScoreItem] = []
    for item in items:
        ids = sum(len(one.context_ids) + len(one.ids) for one in [*batch, item])
        if batch and (len(batch) == BATCH or ids > _BATCH_IDS):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
