"""How well success is predicted for policies and prompts that nothing was trained on, over graded checkpoints.

    python -m benchmarks.value_model            measure on the outcomes of benchmarks.value_model.collect
    python -m benchmarks.value_model --ship     train the shipped model on all of them
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, load, store
from benchmarks.value_model.collect import OUTCOMES
from benchmarks.value_model.world import by_mean
from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.value.episodes import Key
from hone.algorithms.value.evaluation import Predictor, by_model, evaluate
from hone.algorithms.value.heads import RidgeWeights, ridge
from hone.algorithms.value.model import ValueModel, save
from hone.models.embedders import Hashed
from hone.models.value_fit import fit
from hone.models.value_training import Training, train
from hone.text.encoded import Encoded

RESULT, SHIPPED = RESULTS / "value_model.json", Path("libs/hone/algorithms/value/shipped/hashed-v1.safetensors")
TRAINING = Training(epochs=1, lr=1e-3, context=96)
"""A context is a part of the few hundred prompts that there are, as it is where the model is used."""
FOLDS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "first": (("sums", "evens", "small", "reinforced"), ("smallest", "rest", "sum", "sort3")),
    "second": (("order", "copies", "odds", "careless"), ("largest", "copy", "count", "sort5")),
}
"""Families of policies, and of prompts, that are held out together."""


@dataclass(frozen=True)
class Outcomes:
    """Graded checkpoints: the texts and families of prompts, and a key and the policy's family for each checkpoint."""

    texts: list[str]
    families: Any  # [N] names
    keys: list[Key]
    policies: list[str]

    def of(self, held_out: Sequence[str], inside: bool, prompts: Ints) -> list[Key]:
        """Return the outcomes on these prompts of policies in held-out families, or of the others."""
        return [_only(key, prompts) for key, policy in zip(self.keys, self.policies, strict=True)
                if (policy in held_out) == inside]


def read() -> Outcomes:
    """Return the stored outcomes."""
    raw = load(OUTCOMES)["raw"]
    keys = [Key(f"{one['policy']}/{one['step']}", "", np.array([int(place) for place in one["scores"]]),
                np.array(list(one["scores"].values()))) for one in raw["checkpoints"]]
    return Outcomes([text for _, text in raw["prompts"]], np.array([family for family, _ in raw["prompts"]]), keys,
                    [one["policy"] for one in raw["checkpoints"]])


def _only(key: Key, prompts: Ints) -> Key:
    kept = np.isin(key.prompts, prompts)
    return Key(key.policy, key.family, key.prompts[kept], key.outcomes[kept])


def by_difficulty(vectors: Floats, keys: Sequence[Key], prompts: Ints) -> Predictor:
    """Return the context's mean, moved by the mean difficulty of prompts for the training policies.

    Of prompts that they were not asked it is estimated by a ridge regression on the prompts' vectors.
    """
    total, count = np.zeros(len(vectors)), np.zeros(len(vectors))
    for key in keys:
        total[key.prompts] += key.outcomes
        count[key.prompts] += 1
    known = total[prompts] / count[prompts]
    guess = ridge(vectors[prompts], 0.5 * (known - known.mean()) + 0.5, vectors, RidgeWeights(0.2, 1.0))
    guess[prompts] = known - known.mean()
    return lambda context, outcomes, queries: np.clip(
        outcomes.mean() + guess[queries] - guess[context].mean(), 0.0, 1.0)


def predictors(encoded: Encoded, keys: Sequence[Key], prompts: Ints) -> dict[str, Predictor]:
    """Return V0 and what it is compared with, trained on these keys' outcomes on these prompts."""
    plain, vectors = ValueModel(Hashed.name), encoded.vectors
    model = train(encoded, keys, Hashed.name, "mlp", TRAINING)
    return {"context mean": by_mean,
            "global difficulty": by_difficulty(vectors, keys, prompts),
            "knn, no adapter": by_model(plain, vectors, "knn"), "ridge, no adapter": by_model(plain, vectors),
            "V0": by_model(model, model.features(encoded))}


def measured(found: Outcomes, encoded: Encoded, fold: str) -> dict[str, Any]:
    """Return the figures of a fold: of unseen policies on prompts of seen, of unseen, and of all families."""
    policies, families = FOLDS[fold]
    unseen = np.flatnonzero(np.isin(found.families, families))
    seen, every = np.flatnonzero(~np.isin(found.families, families)), np.arange(len(found.texts))
    asked = {"seen prompts": seen, "unseen families": unseen, "all prompts": every}
    return {name: {where: evaluate(found.of(policies, True, prompts), one).rounded()
                   for where, prompts in asked.items()}
            for name, one in predictors(encoded, found.of(policies, False, seen), seen).items()}


def main() -> None:
    """Measure, or train the shipped model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.value_model", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ship", action="store_true")
    found, embedder = read(), Hashed()
    if parser.parse_args().ship:
        SHIPPED.parent.mkdir(exist_ok=True)
        save(fit(embedder, found.texts, found.keys, TRAINING), SHIPPED)
        print(f"written to {SHIPPED}: {SHIPPED.stat().st_size} bytes")
        return
    encoded = embedder.encode(found.texts)
    store(RESULT, {**provenance(), "checkpoints": len(found.keys), "prompts": len(found.texts),
                   "embedder": embedder.name, "folds": {
                       fold: {"policies": list(FOLDS[fold][0]), "families": list(FOLDS[fold][1]),
                              "figures": measured(found, encoded, fold)} for fold in FOLDS}})


if __name__ == "__main__":
    main()
