"""Weights that cannot be served are found before anybody is."""

from dataclasses import replace

import pytest
import torch

from hone.models import toy
from hone.models.checkpoint import Checkpoint
from services.inference.finite import NotFinite
from services.inference.native.weights import fuse


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
