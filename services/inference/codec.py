"""Protobuf messages to the engine's carriers and back. Whatever is wrong is refused by its field's name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hone.api import inference_pb2, trajectory_pb2
from hone.rpc.errors import InvalidField
from services.inference.requests import Completion, FinishReason, KvOnUpdate, NoiseKey, Request, Sampling
from services.inference.scoring import Item, Scored

MOST_SAMPLES = 4096
LEAST_TEMPERATURE = 1e-3
"""Logits divided by less may become infinite; 0 stands for the likeliest token."""
LARGEST_TOP_K = 64
"""Likeliest ids told at a place by scores."""


@dataclass(frozen=True)
class Limits:
    """What an engine can be asked."""

    positions: int  # ids of a sequence, prompt and completion together
    least_temperature: float = LEAST_TEMPERATURE  # of a draw; 0 is served besides


_KV = {
    inference_pb2.KV_ON_UPDATE_UNSPECIFIED: KvOnUpdate.KEEP, inference_pb2.KV_ON_UPDATE_KEEP: KvOnUpdate.KEEP,
    inference_pb2.KV_ON_UPDATE_RECOMPUTE: KvOnUpdate.RECOMPUTE,
}
_REASONS = {
    None: trajectory_pb2.FINISH_REASON_UNSPECIFIED, FinishReason.STOP: trajectory_pb2.FINISH_REASON_STOP,
    FinishReason.LENGTH: trajectory_pb2.FINISH_REASON_LENGTH, FinishReason.ABORT: trajectory_pb2.FINISH_REASON_ABORT,
}


def request(
    message: inference_pb2.GenerateRequest, limits: Limits, path: str = "", streamed: bool = False
) -> Request:
    """Return what a message asks for. Raises InvalidField; `path` is put before the field's name."""
    positions = limits.positions
    _expect(bool(message.model_id), f"{path}model_id", message.model_id, "the id of a model")
    _expect(bool(message.prompt_ids), f"{path}prompt_ids", [], "at least one id")
    _expect(1 <= message.n <= MOST_SAMPLES, f"{path}n", message.n, f"1 to {MOST_SAMPLES}")
    _expect(message.kv_on_update in _KV, f"{path}kv_on_update", message.kv_on_update, "keep or recompute")
    sampling = _sampling(message.sampling, f"{path}sampling.", limits.least_temperature)
    length = len(message.prompt_ids)
    _expect(length + sampling.max_tokens <= positions, f"{path}sampling.max_tokens", sampling.max_tokens,
            f"at most {positions - length}: {positions} positions less a prompt of {length}")
    noise = NoiseKey(message.noise.seed, message.noise.request, message.noise.call)
    return Request(
        message.request_id, tuple(message.prompt_ids), message.n, sampling, noise, message.version_id,
        _KV[message.kv_on_update], streamed,
    )


def items(message: inference_pb2.ScoreRequest, positions: int) -> list[Item]:
    """Return what is to be scored. Raises InvalidField."""
    _expect(bool(message.model_id), "model_id", message.model_id, "the id of a model")
    _expect_temperature("temperature", message.temperature)
    _expect(0 <= message.top_k <= LARGEST_TOP_K, "top_k", message.top_k, f"0 to {LARGEST_TOP_K}")
    for number, item in enumerate(message.items):
        length = len(item.context_ids) + len(item.ids)
        _expect(bool(item.context_ids), f"items[{number}].context_ids", [], "at least one id")
        _expect(length <= positions, f"items[{number}].ids", f"{length} ids with their context", f"at most {positions}")
    return [Item(tuple(item.context_ids), tuple(item.ids)) for item in message.items]


def check_ids(field: str, ids: Sequence[int], vocabulary: int) -> None:
    """Refuse ids outside the vocabulary. Raises InvalidField."""
    if ids and not (min(ids) >= 0 and max(ids) < vocabulary):
        wrong = next(id for id in ids if not 0 <= id < vocabulary)
        raise InvalidField(field, wrong, f"ids from 0 to {vocabulary - 1}")


def check_top_k(top_k: int, vocabulary: int) -> None:
    """Refuse to tell more ids than there are. Raises InvalidField."""
    _expect(top_k <= vocabulary, "top_k", top_k, f"at most {vocabulary}: the vocabulary")


def scored(found: Scored) -> inference_pb2.ScoredItem:
    """Return what is said of one item as a message."""
    return inference_pb2.ScoredItem(
        logp=found.logp, entropy=found.entropy, top_ids=found.top_ids, top_logp=found.top_logp)


def completion(made: Completion) -> trajectory_pb2.Completion:
    """Return one completion as a message."""
    spans = [trajectory_pb2.VersionSpan(version_id=version, tokens=tokens) for version, tokens in made.versions]
    return trajectory_pb2.Completion(
        index=made.index, ids=made.ids, logp_sample=made.logp, finish_reason=_REASONS[made.finish_reason],
        versions=spans)


def _sampling(message: trajectory_pb2.Sampling, path: str, least_temperature: float) -> Sampling:
    _expect(message.max_tokens >= 1, f"{path}max_tokens", message.max_tokens, "at least 1")
    _expect_temperature(f"{path}temperature", message.temperature, least_temperature)
    _expect(0 < message.top_p <= 1, f"{path}top_p", message.top_p, "above 0 and at most 1")
    _expect(message.top_k >= 0, f"{path}top_k", message.top_k, "at least 0")
    _expect(all(message.stop), f"{path}stop", "", "texts that are not empty")
    return Sampling(message.max_tokens, message.temperature, message.top_p, message.top_k, tuple(message.stop),
                    tuple(message.stop_ids))


def _expect_temperature(field: str, found: float, least: float = LEAST_TEMPERATURE) -> None:
    lowest = float(np.float32(least))  # a message's floats have four bytes
    _expect(found == 0 or lowest <= found < math.inf, field, found, f"0 or a finite number of at least {least}")


def _expect(fulfilled: bool, field: str, found: object, expected: str) -> None:
    if not fulfilled:
        raise InvalidField(field, found, expected)
