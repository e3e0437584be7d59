"""Ratings of texts by reward models: the texts of a message, and the batches they are computed in."""

from collections.abc import Iterator, Sequence

from hone.api import inference_pb2 as pb
from hone.models.architecture import Architecture
from services.inference.requests import ENGINE, MODEL, check_ids, expect
from services.inference.scoring import BATCH

_BATCH_IDS = 2048
"""Most ids of a batch, padding included, that are computed between two decode steps."""


def read_items(message: pb.RateRequest, positions: int) -> list[list[int]]:
    """Read the texts of a message. Raises InvalidField."""
    expect(bool(message.model_id), "model_id", message.model_id, "the id of a model")
    texts = [list(item.ids) for item in message.items]
    for number, ids in enumerate(texts):
        expect(bool(ids), f"items[{number}].ids", [], "at least one id")
    _check_room(texts, positions, ENGINE)
    return texts


def check_fit(texts: Sequence[Sequence[int]], model: Architecture) -> None:
    """Refuse texts that the model cannot rate. Raises InvalidField."""
    expect(model.rates, "model_id", f"a model of the family {model.family}, which writes text",
           "a reward model, whose config.json has num_labels 1")
    _check_room(texts, model.max_positions, MODEL)
    for number, ids in enumerate(texts):
        check_ids(f"items[{number}].ids", tuple(ids), model.vocab_size)


def expect_writer(model: Architecture, path: str = "") -> None:
    """Refuse to make or score tokens by a reward model. Raises InvalidField."""
    expect(not model.rates, f"{path}model_id", "a reward model, which has no next token",
           "a model that writes text; Rate gives the ratings of this one")


def batches(texts: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the places of texts that are computed together, the shortest first: little of a batch is padding."""
    batch = list[int]()
    for place in sorted(range(len(texts)), key=lambda one: len(texts[one])):
        if batch and (len(batch) == BATCH or (len(batch) + 1) * len(texts[place]) > _BATCH_IDS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _check_room(texts: Sequence[Sequence[int]], positions: int, whose: str) -> None:
    for number, ids in enumerate(texts):
        expect(len(ids) <= positions, f"items[{number}].ids", f"{len(ids)} ids", f"at most {positions}: the positions "
               f"of {whose}")
