"""The shipped value model."""

import numpy as np

from hone.spec.value_settings import ValueSettings
from hone.text.encoded import Encoded
from services.value import models


def test_the_shipped_model_is_for_the_embedder_that_needs_nothing_and_says_how_it_was_made() -> None:
    found = models.chosen(ValueSettings(), "hashed-v1")
    assert (found.embedder, found.kind) == ("hashed-v1", "mlp")
    assert sum(values.nbytes for values in found.weights.values()) < 5e6
    assert (found.facts["policies"], found.facts["prompts"]) == (43, 384)
    assert found.facts["held_out"]["intra_context_auc"] > 0.8
    assert found.ridge.lam > 0


def test_what_else_is_in_a_batch_does_not_show_in_the_four_bytes_of_a_feature() -> None:
    shipped = models.chosen(ValueSettings(), "hashed-v1")
    vectors = np.random.default_rng(0).normal(size=(257, shipped.weights["skip"].shape[0]))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = shipped.features(Encoded(vectors)).astype(np.float32)
    for size in (1, 2, 3, 64):
        parts = [shipped.features(Encoded(vectors[place:place + size])) for place in range(0, len(vectors), size)]
        assert np.array_equal(np.concatenate(parts).astype(np.float32), whole)
