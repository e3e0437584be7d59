"""A synthetic world to test V0 in: policies are skills, prompts are latent factors that are seen through noise.

    python -m benchmarks.value_model.world [--seeds 0 1]

The spec of V0 fixes the sizes; strengths and noise are ours, chosen so that the two baselines have the figures that it
names.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.value import metrics
from hone.algorithms.value.episodes import Key
from hone.algorithms.value.evaluation import Predictor, by_model
from hone.algorithms.value.heads import RidgeWeights, ridge
from hone.algorithms.value.predicting import sigmoid
from hone.models.value_training import Training, train
from hone.text.encoded import Encoded

PROMPTS, POLICIES, FACTORS, FEATURES = 2000, 60, 6, 24
TRAIN_PROMPTS, TRAIN_POLICIES = 1400, 40
SAMPLES = 10
"""Rollouts behind an outcome."""
TRAINING = Training(epochs=1, most_steps=400, lr=3e-3, accumulation=2, chunk=32, features=16, hidden=64, dropout=0.0)
SHARED, OWN, LEVEL, NOISE = 1.2, 1.8, 0.6, 0.7
"""Strength of what all policies are good at, of what each is good at alone, and of its level; noise of features."""


@dataclass(frozen=True)
class World:
    """Prompts [N, 24] as an embedder sees them, and each policy's true probabilities and outcomes on them, [P, N]."""

    encoded: Encoded
    truth: Floats
    outcomes: Floats


def world(seed: int) -> World:
    """Return the prompts and policies of a seed."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(PROMPTS, FACTORS))
    mixed = np.linalg.qr(rng.normal(size=(FEATURES, FACTORS))).Q.T * np.sqrt(FEATURES / FACTORS)
    seen = factors @ mixed + NOISE * rng.normal(size=(PROMPTS, FEATURES))
    shared = rng.normal(size=FACTORS)
    own = rng.normal(size=(POLICIES, FACTORS)) / np.sqrt(FACTORS)
    skills = SHARED * shared / np.linalg.norm(shared) + OWN * own
    truth = sigmoid((skills @ factors.T) + LEVEL * rng.normal(size=(POLICIES, 1)))
    return World(Encoded(seen / np.sqrt(FEATURES)), truth, rng.binomial(SAMPLES, truth) / SAMPLES)


def keys(found: World) -> list[Key]:
    """Return the outcomes of the training policies on the training prompts."""
    prompts = np.arange(TRAIN_PROMPTS)
    return [Key(str(policy), "", prompts, found.outcomes[policy, :TRAIN_PROMPTS]) for policy in range(TRAIN_POLICIES)]


def by_mean(_: Ints, outcomes: Floats, queries: Ints) -> Floats:
    """Return the mean outcome of the context, for all queries."""
    return np.full(len(queries), outcomes.mean())


def by_difficulty(found: World) -> Predictor:
    """Return the mean of the context, moved by the difficulty that the training policies had with such prompts."""
    seen = found.encoded.vectors * np.sqrt(FEATURES)
    mean = found.outcomes[:TRAIN_POLICIES, :TRAIN_PROMPTS].mean(0)
    guess = ridge(seen[:TRAIN_PROMPTS], 0.5 * (mean - mean.mean()) + 0.5, seen, RidgeWeights(1.0, 1.0))
    return lambda context, outcomes, queries: np.clip(
        outcomes.mean() + guess[queries] - guess[context].mean(), 0.0, 1.0)


def measured(found: World, predictor: Predictor, size: int) -> tuple[float, float]:
    """Return intra-context AUC on hard outcomes, and squared error to the truth, of unseen policies and prompts."""
    each = list(_answers(found, predictor, size, np.random.default_rng(0)))
    auc = metrics.intra_context_auc([(outcomes, p) for outcomes, _, p in each])
    return auc, float(np.mean([np.mean((p - truth) ** 2) for _, truth, p in each]))


def _answers(
    found: World, predictor: Predictor, size: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats, Floats]]:
    for policy in range(TRAIN_POLICIES, POLICIES):
        unseen = rng.permutation(np.arange(TRAIN_PROMPTS, PROMPTS))
        pool = np.concatenate([unseen[:256], rng.permutation(TRAIN_PROMPTS)]) if size > 256 else unseen[:256]
        context, queries = pool[:size], unseen[256:]
        p = predictor(context, found.outcomes[policy, context], queries)
        yield found.outcomes[policy, queries], found.truth[policy, queries], p


def figures(seed: int, training: Training = TRAINING, sizes: Sequence[int] = (16, 64, 256, 1024)) -> dict[str, object]:
    """Return AUC and squared error of V0 and of the baselines."""
    found = world(seed)
    model = train(found.encoded, keys(found), "world", "mlp", training)
    trained = by_model(model, model.features(found.encoded))
    return {"seed": seed, "context mean": measured(found, by_mean, 256),
            "global difficulty": measured(found, by_difficulty(found), 256),
            "v0": measured(found, trained, 256), "lam": model.ridge.lam, "tau": model.ridge.tau,
            "auc by context": {size: measured(found, trained, size)[0] for size in sizes}}


def main() -> None:
    """Print the figures of each seed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.value_model.world", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    for found in map(partial(figures), parser.parse_args().seeds):
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
