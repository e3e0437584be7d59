"""The shipped value model."""

from hone.spec.value_settings import ValueSettings
from services.value import models


def test_the_shipped_model_is_for_the_embedder_that_needs_nothing_and_says_how_it_was_made() -> None:
    found = models.chosen(ValueSettings(), "hashed-v1")
    assert (found.embedder, found.kind) == ("hashed-v1", "mlp")
    assert sum(values.nbytes for values in found.weights.values()) < 5e6
    assert (found.facts["policies"], found.facts["prompts"]) == (43, 384)
    assert found.facts["held_out"]["intra_context_auc"] > 0.8
    assert found.ridge.lam > 0
