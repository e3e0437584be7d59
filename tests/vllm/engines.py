"""Small models, versions of them with the probe of the trainer's forward, and engines on vLLM that serve them."""

from collections.abc import Iterable
from typing import Any

import torch

from hone.models import adapter, probe, toy
from hone.models.adapter import Lora
from hone.models.checkpoint import Checkpoint, weights_bytes
from hone.models.policy import Policy
from hone.spec.settings import EngineSettings, Settings, VllmSettings
from hone.text.tokenizer import Tokenizer
from services.inference.engines import Version
from services.inference.requests import Answer, Completion, NoiseKey, Request, Sampling
from services.inference.takeover import EXACT, Verdict
from services.inference.vllm.core import Core
from services.inference.vllm.engine import VllmEngine

SETTINGS = Settings(engine=EngineSettings(kind="vllm", slots=32, max_tokens=256), vllm=VllmSettings(cache_mb=32))
SIZES: dict[str, Any] = {"hidden": 64, "ffn": 96, "heads": 2}


def checkpoint(seed: int, **sizes: Any) -> Checkpoint:
    """Return a toy model whose output is far from uniform."""
    made = Checkpoint.from_files(toy.files(seed, **{**SIZES, **sizes}))
    return Checkpoint(made.config, {name: tensor * 8 if tensor.dim() > 1 else tensor
                                    for name, tensor in made.tensors.items()}, made.files)


def policy(made: Checkpoint) -> Policy:
    """Return the trainer's view of a model."""
    return Policy(made.architecture, made.tensors)


def version(id: str, seed: int, **sizes: Any) -> Version:
    """Return a whole model as a version."""
    made = checkpoint(seed, **sizes)
    return Version(id, "m", made, None, "", Tokenizer(made.files), probe.expected(policy(made)))


def adapted(id: str, model_id: str, seed: int, base: int = 0) -> Version:
    """Return an adapter beside a base as a version; neither half of the adapter is zero."""
    below, expected = checkpoint(base), probe.expected(policy(merged(seed, base)))
    return Version(id, model_id, below, adapter_files(seed, base), "base", Tokenizer(below.files), expected)


def adapter_files(seed: int, base: int = 0) -> dict[str, bytes]:
    """Return the files of an adapter that changes its base's outputs."""
    lora = Lora(8, 16.0, ("down_proj", "q_proj", "v_proj"))
    random = torch.Generator().manual_seed(seed)
    tensors = {name: tensor + 0.05 * torch.randn(tensor.shape, generator=random)
               for name, tensor in adapter.initial(checkpoint(base).architecture, lora, seed).items()}
    return {adapter.WEIGHTS: weights_bytes(tensors), adapter.CONFIG: lora.config("base")}


def merged(seed: int, base: int = 0) -> Checkpoint:
    """Return a base with an adapter merged into it."""
    return checkpoint(base).adapted(adapter_files(seed, base))


def serving(first: Version, core: Core | None = None) -> VllmEngine:
    """Return an engine that serves a first version."""
    on = core or Core(SETTINGS, first.adapter is not None)
    made = VllmEngine(first.checkpoint.architecture, on, first.model_id, SETTINGS.engine.max_tokens, EXACT)
    assert made.take(first).served
    return made


def offered(engine: VllmEngine, next_one: Version) -> Verdict:
    """Offer a version, step, and return the verdict."""
    verdicts = list[Verdict]()
    engine.offer(next_one, verdicts.append)
    engine.step()
    (verdict,) = verdicts
    return verdict


def request(name: str, prompt: Iterable[int] = (23, 9, 6, 13), n: int = 1, **sampling: Any) -> Request:
    """Return a request whose noise is named like itself."""
    return Request(name, tuple(prompt), n, Sampling(**{"max_tokens": 12, **sampling}), NoiseKey(7, name))


def drain(*engines: VllmEngine) -> dict[str, list[Completion]]:
    """Step until nothing is left to do and return the completions of whole requests by their id."""
    answers: list[Answer] = []
    while any(engine.has_work for engine in engines):
        for engine in engines:
            answers += engine.step()
    return {answer.request.request_id: answer.completions for answer in answers if answer.done}
