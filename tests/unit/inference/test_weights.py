"""Weights that cannot be served are found before anybody is."""

from dataclasses import replace

import pytest
import torch

from hone.models import toy
from hone.models.checkpoint import Checkpoint
from services.inference.native import weights as module
from services.inference.native.weights import fuse
from services.inference.takeover import NotFinite
from tests.unit.inference.engines import engine, request, run


def checkpoint(name: str, value: float) -> Checkpoint:
    """Return the toy with one number of one tensor replaced."""
    made = Checkpoint.from_files(toy.files())
    changed = made.tensors[name].clone()
    changed.view(-1)[7] = value
    return replace(made, tensors={**made.tensors, name: changed})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_tensor_that_is_not_finite_is_named(value: float) -> None:
    with pytest.raises(NotFinite, match=r"model\.layers\.0\.mlp\.up_proj\.weight holds NaN or infinity"):
        fuse(checkpoint("model.layers.0.mlp.up_proj.weight", value))


def test_bfloat16_weights_are_served_in_float32() -> None:
    made = Checkpoint.from_files(toy.files())
    halved = replace(made, tensors={name: tensor.bfloat16() for name, tensor in made.tensors.items()})
    weights = fuse(Checkpoint.from_files(halved.to_files()))
    assert weights.embedding.dtype is torch.float32
    assert torch.equal(weights.embedding, made.tensors["model.embed_tokens.weight"].bfloat16().float())


def test_the_table_of_the_first_layer_is_kept_for_small_vocabularies_only(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = fuse(Checkpoint.from_files(toy.files()))
    assert kept.first is not None
    assert kept.first.shape == (32, 3 * 128)
    monkeypatch.setattr(module, "_FIRST", 32 * 3 * 128 - 1)
    assert fuse(Checkpoint.from_files(toy.files())).first is None


@pytest.mark.parametrize("family", ["qwen3", "qwen2"])
def test_the_table_of_the_first_layer_changes_no_result(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    asked = [request("a", [5, 9, 7], 3, temperature=0), request("b", range(3, 40), 3, temperature=0)]
    kept = run(engine(family), *asked)
    monkeypatch.setattr(module, "_FIRST", 0)
    for name, completions in run(engine(family), *asked).items():
        for one, other in zip(completions, kept[name], strict=True):
            assert one.ids == other.ids
            assert one.logp == pytest.approx(other.logp, abs=2e-5)
