"""Requests for samples and their answers: the engines' data classes, and the protobuf messages they come from.

A message with a wrong field is refused by that field's name.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from hone.api import inference_pb2, trajectory_pb2
from hone.rpc.errors import InvalidField
from services.inference.grammars import Grammar, Walk

MOST_SAMPLES = 4096
MOST_BIASES = 1024
LARGEST_TOP_K = 64
"""Most likeliest ids at a place that a caller may ask for."""
LEAST_TEMPERATURE = 1e-3
"""Logits divided by less may become infinite. A temperature of 0 means the likeliest token."""
_LARGEST_PENALTY, _LARGEST_BIAS = 2, 100
ENGINE, MODEL = "the engine (HONE_ENGINE_MAX_TOKENS)", "the model (its max_position_embeddings)"
"""Whose positions a request may exceed."""


class KvOnUpdate(Enum):
    """Whether a running sequence keeps its cached keys and values when the weights change."""

    KEEP = "keep"
    RECOMPUTE = "recompute"


class FinishReason(Enum):
    """Why a completion ended."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; the fields are those of hone.v1.Sampling."""

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    stop: tuple[str, ...] = ()
    stop_ids: tuple[int, ...] = ()
    include_stop: bool = False
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    top_logprobs: int = 0  # likeliest ids that are shown at each place

    @property
    def biased(self) -> bool:
        """Whether logits are changed before a token is drawn."""
        return bool(self.presence_penalty or self.frequency_penalty or self.logit_bias)


@dataclass(frozen=True)
class NoiseKey:
    """Identifies the random numbers of one call: equal keys give equal numbers."""

    seed: int = 0
    request: str = ""
    call: int = 0


class Guide:
    """The grammar of a request's samples, which is compiled before an engine gets the request."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.grammar: Grammar | None = None

    def walk(self, stop_ids: Sequence[int], made: Sequence[int] = ()) -> Walk:
        """Begin a sample, after the tokens `made`. Raises LookupError before the grammar is compiled."""
        if self.grammar is None:
            raise LookupError("the grammar is not compiled yet")
        return self.grammar.walk(stop_ids, made)


@dataclass(frozen=True, eq=False)
class Request:
    """All samples of one prompt. Two requests are the same only if they are the same object."""

    request_id: str
    prompt_ids: tuple[int, ...]
    n: int
    sampling: Sampling
    noise: NoiseKey = field(default_factory=NoiseKey)
    version_id: str = ""  # the request insists on this version; empty: any version
    kv_on_update: KvOnUpdate = KvOnUpdate.KEEP
    streamed: bool = False  # the caller wants each token as it is made
    tenant_id: str = ""  # who may abort it through the door
    first: int = 0  # index of the first sample
    guide: Guide | None = None  # what its samples must be; None: any text

    @property
    def indexes(self) -> range:
        """The indexes of its samples."""
        return range(self.first, self.first + self.n)


Likeliest = list[tuple[int, float]]
"""The likeliest ids at a place, likeliest first, with their log-probs."""


@dataclass(frozen=True)
class Completion:
    """A sample that has ended, or, with `finish_reason` None, the new tokens of a streamed sample."""

    index: int
    ids: list[int]
    logp: list[float]  # of each id, in nats, under the distribution that it was drawn from
    versions: list[tuple[str, int]]  # (version id, consecutive tokens)
    finish_reason: FinishReason | None
    likeliest: list[Likeliest] = field(default_factory=list)  # at each id, if the request asks for them


@dataclass(frozen=True)
class Answer:
    """New completions of a request. The last answer is `done`. A request that is not streamed has one answer."""

    request: Request
    completions: list[Completion]
    done: bool
    refused: str = ""  # the reason why there will be no completions


@dataclass(frozen=True)
class Limits:
    """The largest request that an engine takes."""

    positions: int  # ids of a sequence, prompt and completion together
    least_temperature: float = LEAST_TEMPERATURE  # lowest temperature of a draw, except for 0


_KV = {
    inference_pb2.KV_ON_UPDATE_UNSPECIFIED: KvOnUpdate.KEEP, inference_pb2.KV_ON_UPDATE_KEEP: KvOnUpdate.KEEP,
    inference_pb2.KV_ON_UPDATE_RECOMPUTE: KvOnUpdate.RECOMPUTE,
}
_REASONS = {
    None: trajectory_pb2.FINISH_REASON_UNSPECIFIED, FinishReason.STOP: trajectory_pb2.FINISH_REASON_STOP,
    FinishReason.LENGTH: trajectory_pb2.FINISH_REASON_LENGTH, FinishReason.ABORT: trajectory_pb2.FINISH_REASON_ABORT,
}


def read_request(
    message: inference_pb2.GenerateRequest, limits: Limits, path: str = "", streamed: bool = False
) -> Request:
    """Read a message. Raises InvalidField, with `path` before the field's name."""
    expect(bool(message.model_id), f"{path}model_id", message.model_id, "the id of a model")
    expect(bool(message.prompt_ids), f"{path}prompt_ids", [], "at least one id")
    expect(1 <= message.n <= MOST_SAMPLES, f"{path}n", message.n, f"1 to {MOST_SAMPLES}")
    expect(0 <= message.first <= MOST_SAMPLES - message.n, f"{path}first", message.first,
           f"0 to {MOST_SAMPLES - message.n}, so that no index is above {MOST_SAMPLES - 1}")
    expect(message.kv_on_update in _KV, f"{path}kv_on_update", message.kv_on_update, "keep or recompute")
    sampling = _sampling(message.sampling, f"{path}sampling.", limits.least_temperature)
    check_room(path, len(message.prompt_ids), sampling.max_tokens, limits.positions, ENGINE)
    noise = NoiseKey(message.noise.seed, message.noise.request, message.noise.call)
    return Request(
        message.request_id, tuple(message.prompt_ids), message.n, sampling, noise, message.version_id,
        _KV[message.kv_on_update], streamed, first=message.first,
        guide=Guide(message.grammar) if message.grammar else None,
    )


def check_room(path: str, length: int, max_tokens: int, positions: int, whose: str) -> None:
    """Refuse a prompt of `length` ids and `max_tokens` more that do not fit in `positions`. Raises InvalidField."""
    expect(length < positions, f"{path}prompt_ids", f"a prompt of {length} ids",
           f"fewer than {positions}: prompt and completion share the {positions} positions of {whose}")
    expect(length + max_tokens <= positions, f"{path}sampling.max_tokens", max_tokens,
           f"at most {positions - length}: the {positions} positions of {whose} less a prompt of {length}")


def check_ids(field: str, ids: Sequence[int], vocabulary: int) -> None:
    """Refuse ids outside the vocabulary. Raises InvalidField."""
    if ids and not (min(ids) >= 0 and max(ids) < vocabulary):
        wrong = next(id for id in ids if not 0 <= id < vocabulary)
        raise InvalidField(field, wrong, f"ids from 0 to {vocabulary - 1}")


def completion_message(made: Completion) -> trajectory_pb2.Completion:
    """Return one completion as a message."""
    spans = [trajectory_pb2.VersionSpan(version_id=version, tokens=tokens) for version, tokens in made.versions]
    likeliest = [trajectory_pb2.LikeliestIds(ids=[id for id, _ in one], logp=[logp for _, logp in one])
                 for one in made.likeliest]
    return trajectory_pb2.Completion(
        index=made.index, ids=made.ids, logp_sample=made.logp, finish_reason=_REASONS[made.finish_reason],
        versions=spans, likeliest=likeliest)


def _sampling(message: trajectory_pb2.Sampling, path: str, least_temperature: float) -> Sampling:
    expect(message.max_tokens >= 1, f"{path}max_tokens", message.max_tokens, "at least 1")
    expect_temperature(f"{path}temperature", message.temperature, least_temperature)
    expect(0 < message.top_p <= 1, f"{path}top_p", message.top_p, "above 0 and at most 1")
    expect(message.top_k >= 0, f"{path}top_k", message.top_k, "at least 0")
    expect(all(message.stop), f"{path}stop", "", "texts that are not empty")
    for name in ("presence_penalty", "frequency_penalty"):
        expect(abs(getattr(message, name)) <= _LARGEST_PENALTY, f"{path}{name}", getattr(message, name),
               f"-{_LARGEST_PENALTY} to {_LARGEST_PENALTY}")
    biases = tuple(sorted(message.logit_bias.items()))
    expect(len(biases) <= MOST_BIASES and all(abs(bias) <= _LARGEST_BIAS for _, bias in biases), f"{path}logit_bias",
           f"{len(biases)} biases", f"at most {MOST_BIASES} from -{_LARGEST_BIAS} to {_LARGEST_BIAS}")
    expect(0 <= message.top_logprobs <= LARGEST_TOP_K, f"{path}top_logprobs", message.top_logprobs,
           f"0 to {LARGEST_TOP_K}")
    return Sampling(message.max_tokens, message.temperature, message.top_p, message.top_k, tuple(message.stop),
                    tuple(message.stop_ids), message.include_stop, message.presence_penalty,
                    message.frequency_penalty, biases, message.top_logprobs)


def expect_temperature(field: str, found: float, least: float = LEAST_TEMPERATURE) -> None:
    """Refuse a temperature that is neither 0 nor at least `least`. Raises InvalidField."""
    lowest = float(np.float32(least))  # floats of a message have four bytes
    expect(found == 0 or lowest <= found < math.inf, field, found, f"0 or a finite number of at least {least}")


def expect(fulfilled: bool, field: str, found: object, expected: str) -> None:
    """Raise InvalidField unless `fulfilled`."""
    if not fulfilled:
        raise InvalidField(field, found, expected)
