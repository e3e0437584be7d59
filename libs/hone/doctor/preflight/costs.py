"""Estimates of a run's memory and of the time of a step, from the architecture and the measured speed of sampling."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from hone.client.preflight import Cost
from hone.models.architecture import Architecture
from hone.spec.run import RunSpec
from hone.spec.settings import Settings

_FLOAT = 4
"""Bytes of a number in the trainer, which computes in float32."""
_ENGINE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_ADAMW = 2
"""Moments that AdamW keeps of each trained weight."""


@dataclass(frozen=True)
class Measured:
    """Costs of the base's samples: tokens generated in seconds of an engine, and the mean lengths."""

    tokens: float
    seconds: float
    prompt: float
    completion: float


def memory(spec: RunSpec, architecture: Architecture, settings: Settings) -> Iterator[Cost]:
    """Yield the memory of the trainer and of one engine by purpose. Settings are the gateway's own."""
    weights = sum(prod(shape) for shape in architecture.shapes().values())
    trained = _adapter(spec, architecture) if spec.model.kind == "lora" else weights
    models = "policy and critic" if spec.critic else "policy"
    copies = 2 if spec.critic else 1
    yield _bytes("trainer: weights", _FLOAT * copies * (weights + (trained if trained < weights else 0)),
                 f"float32, {models}")
    yield _bytes("trainer: gradients and optimizer", _FLOAT * copies * trained * (1 + _ADAMW),
                 f"gradient and two moments of {trained:,} trained weights, {models}")
    tokens = settings.trainer.tokens
    yield _bytes("trainer: activations", _FLOAT * tokens * (
        architecture.layers * _kept(architecture) + 2 * architecture.vocab_size),
        f"a micro-batch of {tokens} tokens (HONE_TRAINER_TOKENS), nothing recomputed")
    width = _ENGINE_BYTES[settings.engine.dtype]
    yield _bytes("engine: weights", width * weights, settings.engine.dtype)
    yield _cache(architecture, settings)


def _kept(architecture: Architecture) -> int:
    """Return how many numbers a layer keeps of a token for the backward pass."""
    return 4 * architecture.hidden + 2 * architecture.queries + 2 * architecture.keys + 4 * architecture.ffn


def _adapter(spec: RunSpec, architecture: Architecture) -> int:
    rank, targets = (spec.model.lora.rank, spec.model.lora.targets) if spec.model.lora else (0, [])
    return sum(rank * sum(shape) for name, shape in architecture.shapes().items()
               if any(f".{target}.weight" in name for target in targets))


def _cache(architecture: Architecture, settings: Settings) -> Cost:
    if settings.engine.kind == "vllm":
        return _bytes("engine: keys and values", settings.vllm.cache_mb * 2**20, "HONE_VLLM_CACHE_MB; on a GPU the "
                      "share HONE_VLLM_MEMORY_SHARE of its memory instead")
    slots, positions = settings.engine.slots, settings.engine.max_tokens
    return _bytes("engine: keys and values", _FLOAT * 2 * architecture.layers * architecture.keys * slots * positions,
                  f"{slots} sequences (HONE_ENGINE_SLOTS) of {positions} tokens (HONE_ENGINE_MAX_TOKENS)")


def time(spec: RunSpec, measured: Measured | None) -> Iterator[Cost]:
    """Yield the time of a step's sampling and training; nothing where nothing was measured."""
    if measured is None or not measured.tokens or not measured.seconds:
        return
    sequences, speed = spec.batch.prompts * spec.batch.samples, measured.tokens / measured.seconds
    sampled = sequences * measured.completion
    yield Cost(name="a step: sampling", amount=sampled / speed, unit="seconds",
               basis=f"{sampled:,.0f} tokens at {speed:,.0f} a second of one engine, as measured with few sequences; "
               "more at a time are faster")
    read = sequences * (measured.prompt + measured.completion) * spec.batch.epochs
    yield Cost(name="a step: training", amount=3 * read / speed, unit="seconds",
               basis=f"at most: {read:,.0f} tokens forward and backward, three times the work of sampling them, at the "
               "engine's speed")


def _bytes(name: str, amount: float, basis: str) -> Cost:
    return Cost(name=name, amount=float(amount), unit="bytes", basis=basis)
