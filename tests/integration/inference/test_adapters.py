"""Adapters on one base: each model is served as itself, and follows its own newest version."""

from typing import Any

import pytest
import torch

from hone.api import inference_pb2 as pb
from hone.models import adapter, toy
from hone.models.adapter import Lora
from hone.models.checkpoint import Checkpoint, weights_bytes
from tests.integration.inference.models import make_model
from tests.support.inference.adapters import expected, scored

BASE = toy.files(0, hidden=64, ffn=96, heads=2)


def adapted(seed: int) -> dict[str, bytes]:
    """Return the files of a version: a base, and an adapter that changes its outputs."""
    lora, random = Lora(8, 64.0, ("down_proj", "q_proj", "v_proj")), torch.Generator().manual_seed(seed)
    tensors = {name: tensor + 0.1 * torch.randn(tensor.shape, generator=random) for name, tensor in adapter.initial(
        Checkpoint.from_files(BASE).architecture, lora, seed).items()}
    return {**BASE, adapter.WEIGHTS: weights_bytes(tensors), adapter.CONFIG: lora.config("base")}


def test_two_adapters_of_a_base_and_a_new_version_of_one(
    engine: Any, postgres_owner_url: str, objects_url: str
) -> None:
    first, second = (make_model(postgres_owner_url, objects_url) for _ in range(2))
    first.publish(0, adapted(1))
    second.publish(0, adapted(2))
    assert scored(engine, first) == pytest.approx(expected(adapted(1)), abs=1e-4)
    assert scored(engine, second) == pytest.approx(expected(adapted(2)), abs=1e-4)
    assert expected(adapted(1)) != pytest.approx(expected(adapted(2)), abs=1e-2)
    newer = first.publish(1, adapted(3))
    engine.LoadVersion(pb.LoadVersionRequest(model_id=first.id, version_id=newer), timeout=60)
    assert scored(engine, first) == pytest.approx(expected(adapted(3)), abs=1e-4)
    assert scored(engine, second) == pytest.approx(expected(adapted(2)), abs=1e-4)
