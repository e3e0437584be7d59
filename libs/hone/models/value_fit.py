"""Trains a value model on a file of outcomes: what `hone value train` runs, in a process that may load torch.

    python -m hone.models.value_fit OUTCOMES.jsonl --out v0.safetensors [--embedder hashed] [--epochs 50]

A line of the file is {"policy", "prompt", "score"}, a score from 0 to 1; a policy is a run at a step, "run/step".
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hone.algorithms.value.episodes import Key
from hone.algorithms.value.evaluation import by_model, evaluate
from hone.algorithms.value.model import Kind, ValueModel, save
from hone.models import embedders
from hone.models.embedders import Embedder
from hone.models.value_training import Training, train
from hone.spec.value_settings import ValueSettings
from hone.text.encoded import Encoded

HELD_OUT = 5
"""One run in this many is not trained on, but predicted, where there are as many."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, report and store a model."""
    parser = argparse.ArgumentParser(prog="python -m hone.models.value_fit", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--embedder", choices=["auto", "hashed", "minilm"], default="auto")
    parser.add_argument("--epochs", type=int, default=Training.epochs)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    texts, keys = read(args.outcomes)
    embedder = embedders.chosen(ValueSettings(embedder=args.embedder))
    print(f"{len(keys)} policies, {len(texts)} prompts, embedded by {embedder.name}", flush=True)
    try:
        save(fit(embedder, texts, keys, Training(epochs=args.epochs, seed=args.seed)), args.out)
    except ValueError as error:
        sys.exit(f"hone value train: {error}")
    print(f"written to {args.out}: {args.out.stat().st_size} bytes")


def read(path: Path) -> tuple[list[str], list[Key]]:
    """Return the texts of a file's prompts, and a key for each policy; the mean of outcomes that are there twice."""
    places: dict[str, int] = {}
    scores: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in path.read_text().splitlines():
        row: dict[str, Any] = json.loads(line)
        place = places.setdefault(row["prompt"], len(places))
        scores[row["policy"]][place].append(float(row["score"]))
    keys = [Key(policy, "", np.array(list(rows)), np.array([np.mean(each) for each in rows.values()]))
            for policy, rows in scores.items()]
    return list(places), keys


def fit(embedder: Embedder, texts: Sequence[str], keys: Sequence[Key], training: Training) -> ValueModel:
    """Return the model of all policies, whose facts say how one of most runs predicts the policies of the others.

    Raises ValueError where no policy has successes and failures.
    """
    encoded = embedder.encode(texts)
    kind = kind_for(encoded)
    places = {run: place for place, run in enumerate(dict.fromkeys(map(_run, keys)))}
    figures: dict[str, float] = {}
    if len(places) >= HELD_OUT:
        hidden, shown = ([key for key in keys if (places[_run(key)] % HELD_OUT == 0) == wanted]
                         for wanted in (True, False))
        trial = train(encoded, shown, embedder.name, kind, training, _log)
        figures = evaluate(hidden, by_model(trial, trial.features(encoded))).rounded()
        print(f"runs that were held out: {figures}", flush=True)
    found = train(encoded, keys, embedder.name, kind, training, _log)
    facts = {"policies": len(keys), "prompts": len(texts), "held_out": figures, "seed": training.seed}
    return ValueModel(embedder.name, kind, found.weights, found.ridge, facts)


def _run(key: Key) -> str:
    return key.policy.partition("/")[0]


def kind_for(encoded: Encoded) -> Kind:
    """Return the adapter for an embedder: the paper's reads states of tokens."""
    return "mlp" if encoded.states is None else "queries"


def _log(update: int, updates: int, loss: float) -> None:
    if update % max(1, updates // 10) == 0:
        print(f"update {update} of {updates}: loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
