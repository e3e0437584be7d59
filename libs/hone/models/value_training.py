"""Trains the adapter and the ridge head of a value model on outcomes of many policies (V0, arXiv 2602.03584)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.value import adapter, losses
from hone.algorithms.value.episodes import CHUNK, Episode, Key, epoch
from hone.algorithms.value.heads import RidgeWeights, ridge, widened
from hone.algorithms.value.model import Kind, ValueModel, scaled
from hone.algorithms.value.predicting import CONTEXT_ROWS
from hone.text.encoded import Encoded

DROPOUT = 0.2


@dataclass(frozen=True)
class Training:
    """How an adapter is trained: AdamW, cosine with a warm-up, gradients clipped and summed over a few episodes."""

    epochs: int = 50
    most_steps: int | None = None  # after which training ends; None: the epochs alone decide
    lr: float = 2e-4
    head_lr: float = 2e-2  # of the head's two numbers
    weight_decay: float = 0.01  # of matrices
    warmup: float = 0.05
    clip: float = 1.0
    accumulation: int = 2  # episodes of an update
    mix: float = losses.MIX
    context: int = CONTEXT_ROWS
    chunk: int = CHUNK
    dropout: float = DROPOUT
    hidden: int = 128  # of an mlp
    features: int = 64  # of an mlp
    seed: int = 0


@dataclass(frozen=True)
class _Head:
    """The ridge head's numbers while they are trained."""

    log_lam: Tensor
    log_tau: Tensor

    @property
    def lam(self) -> Tensor:
        return self.log_lam.exp()

    @property
    def tau(self) -> Tensor:
        return self.log_tau.exp()


def train(
    encoded: Encoded, keys: Sequence[Key], embedder: str, kind: Kind, training: Training,
    log: Callable[[int, int, float], None] = lambda *_: None,
) -> ValueModel:
    """Return the model that predicts outcomes of `keys` best, whose prompts are rows of `encoded`.

    `log` gets the update, the number of updates and the mean loss since the last call. Raises ValueError without a key
    of two classes.
    """
    torch.manual_seed(training.seed)
    rng = np.random.default_rng(training.seed)
    weights = {name: torch.tensor(values, requires_grad=True)
               for name, values in _initial(encoded, kind, training, rng).items()}
    head = _Head(torch.zeros((), requires_grad=True), torch.tensor(math.log(3.0), requires_grad=True))
    features = _features(encoded, kind, weights, training.dropout)
    episodes = [one for _ in range(training.epochs) for one in epoch(keys, rng, training.context, training.chunk)]
    updates = len(episodes) // training.accumulation
    updates = min(updates, training.most_steps or updates)
    if not updates:
        raise ValueError("outcomes: found no policy with successes and failures, expected some to learn from")
    optimizer, schedule = _optimizer(weights, head, training, updates)
    for update in range(updates):
        some = episodes[update * training.accumulation:(update + 1) * training.accumulation]
        total = sum(_loss(one, features, head, training) for one in some) / len(some)
        optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_([*weights.values(), head.log_lam, head.log_tau], training.clip)
        optimizer.step()
        schedule.step()
        log(update + 1, updates, float(total.detach()))
    found = {name: values.detach().numpy() for name, values in weights.items()}
    made = ValueModel(embedder, kind, found, RidgeWeights(float(head.lam.detach()), float(head.tau.detach())))
    return replace(made, ridge=calibrated(made, made.features(encoded), keys, rng))


def calibrated(model: ValueModel, features: Floats, keys: Sequence[Key], rng: np.random.Generator) -> RidgeWeights:
    """Return the head's numbers with the tau of the lowest cross-entropy over outcomes as they are, not in pairs.

    Pairs have as many successes as failures, whatever the policy: a tau that fits them fits no policy's share.
    """
    scores, outcomes = [], []
    for key in keys:
        order = rng.permutation(len(key.prompts))
        context, queries = order[:len(order) // 2], order[len(order) // 2:]
        successes = int((key.outcomes[context] >= 0.5).sum())
        if 0 < successes < len(context):
            known, asked = widened(features[key.prompts[context]], features[key.prompts[queries]])
            scores.append(ridge(known, key.outcomes[context], asked, RidgeWeights(model.ridge.lam, 1.0)))
            outcomes.append(key.outcomes[queries])
    if not scores:
        return model.ridge
    one, wanted = np.concatenate(scores), np.concatenate(outcomes)
    taus = model.ridge.tau * np.geomspace(0.25, 4.0, 49)
    best = min(taus, key=lambda tau: float(losses.soft_cross_entropy(tau * one, wanted)))
    return RidgeWeights(model.ridge.lam, float(best))


def _initial(encoded: Encoded, kind: Kind, training: Training, rng: np.random.Generator) -> dict[str, Any]:
    width = encoded.vectors.shape[1]
    if kind == "mlp":
        return adapter.initial_mlp(width, training.hidden, training.features, rng)
    return adapter.initial_queries(width, rng)


def _features(
    encoded: Encoded, kind: Kind, weights: Mapping[str, Tensor], dropout: float
) -> Callable[[Ints], Any]:
    """Return the function from places of prompts to features, with dropout."""
    def drop(values: Any) -> Any:
        return torch.nn.functional.dropout(values, dropout)

    def projected(places: Ints) -> Any:
        return adapter.mlp(weights, torch.from_numpy(scaled(encoded.vectors[places])), torch, drop)

    if kind == "mlp":
        return projected
    if encoded.states is None or encoded.real is None:
        raise ValueError("states: found none, expected those of an embedder for an adapter of kind queries")
    vectors, states, real = encoded.vectors.astype(np.float32), encoded.states, encoded.real

    def attended(places: Ints) -> Any:
        length = max(1, int(real[places].sum(1).max()))
        held = torch.from_numpy(states[places, :length].astype(np.float32))
        return adapter.queries(weights, torch.from_numpy(vectors[places]), held,
                               torch.from_numpy(real[places, :length]), torch, drop)

    return attended


def _loss(episode: Episode, features: Callable[[Ints], Any], head: _Head, training: Training) -> Any:
    """Return the loss of an episode; the gradient flows through the features of the context and of the queries."""
    places, where = np.unique(np.concatenate([episode.context, episode.queries]), return_inverse=True)
    rows = features(places)[torch.from_numpy(where)]
    size = len(episode.context)
    context, queries = widened(rows[:size], rows[size:], torch)
    scores = ridge(context, _tensor(episode.context_outcomes), queries, head, torch)
    return losses.combined(scores, _tensor(episode.outcomes), training.mix, torch)


def _tensor(values: Floats) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))


def _optimizer(
    weights: Mapping[str, Tensor], head: _Head, training: Training, updates: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """Return AdamW and its schedule. Biases, norms and the head are not decayed."""
    decayed = [values for values in weights.values() if values.dim() > 1]
    others = [values for values in weights.values() if values.dim() < 2]
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": training.weight_decay}, {"params": others},
        {"params": [head.log_lam, head.log_tau], "lr": training.head_lr}]
    optimizer = torch.optim.AdamW(groups, lr=training.lr, weight_decay=0.0)
    warmup = max(1, round(training.warmup * updates))

    def share(update: int) -> float:
        if update < warmup:
            return (update + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (update - warmup) / max(1, updates - warmup)))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)
