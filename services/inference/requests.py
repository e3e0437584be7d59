"""What the engine is asked and what it answers: frozen carriers, no protobuf."""

from dataclasses import dataclass, field
from enum import Enum


class KvOnUpdate(Enum):
    """What becomes of cached keys and values when weights change under a sequence."""

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


@dataclass(frozen=True)
class NoiseKey:
    """Names the noise of one call."""

    seed: int = 0
    request: str = ""
    call: int = 0


@dataclass(frozen=True, eq=False)
class Request:
    """All samples of one prompt. Two requests are the same only if they are the same object."""

    request_id: str
    prompt_ids: tuple[int, ...]
    n: int
    sampling: Sampling
    noise: NoiseKey = field(default_factory=NoiseKey)
    version_id: str = ""  # exactly this one; empty: the newest loaded
    kv_on_update: KvOnUpdate = KvOnUpdate.KEEP
    streamed: bool = False  # tokens are wanted as they are made


@dataclass(frozen=True)
class Completion:
    """One sample, or with `finish_reason` None the tokens of a streamed one since the last answer."""

    index: int
    ids: list[int]
    logp: list[float]  # of the distribution drawn from
    versions: list[tuple[str, int]]  # (version id, consecutive tokens)
    finish_reason: FinishReason | None


@dataclass(frozen=True)
class Answer:
    """What became of a request in one step; `done` when no more will come. Unstreamed requests have one answer."""

    request: Request
    completions: list[Completion]
    done: bool
    refused: str = ""  # why none will ever come
