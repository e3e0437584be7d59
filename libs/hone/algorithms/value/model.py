"""A trained value model: the adapter and the ridge head's two numbers, in one safetensors file."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from hone.algorithms.inputs import Floats
from hone.algorithms.value import adapter
from hone.algorithms.value.heads import RidgeWeights
from hone.text.encoded import Encoded

Kind = Literal["none", "mlp", "queries"]
_FACTS = "hone"
_LAM, _TAU = "ridge.log_lam", "ridge.log_tau"
_AT_ONCE = 32


class NoValueModel(ValueError):
    """A file holds no value model, or one for another embedder."""


@dataclass(frozen=True)
class ValueModel:
    """An adapter for one embedder, with the weights of the head that was trained with it."""

    embedder: str
    kind: Kind = "none"
    weights: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    ridge: RidgeWeights = field(default_factory=RidgeWeights)
    facts: Mapping[str, Any] = field(default_factory=dict)  # how it was made

    @property
    def version(self) -> str:
        """Embedder, and the digest of the adapter: features of equal versions are equal."""
        if self.kind == "none":
            return self.embedder
        digest = hashlib.sha256(safetensors.numpy.save(_tensors(self))).hexdigest()
        return f"{self.embedder}+{self.kind}-{digest[:8]}"

    def features(self, encoded: Encoded) -> Floats:
        """Return the features of prompts, [N, F]. Raises NoValueModel for an adapter that lacks states.

        They are computed in float64, so that what else is in a batch does not show in the 4 bytes that are kept.
        """
        if self.kind == "none" or not len(encoded.vectors):
            return encoded.vectors
        weights = {name: _float64(values) for name, values in self.weights.items()}
        if self.kind == "mlp":
            return _float64(adapter.mlp(weights, _float64(scaled(encoded.vectors))))
        if encoded.states is None or encoded.real is None:
            raise NoValueModel(f"{self.embedder}: found vectors alone, expected states of tokens for this adapter")
        vectors, states, real = _float64(encoded.vectors), _float64(encoded.states), encoded.real
        parts = [adapter.queries(weights, vectors[place:place + _AT_ONCE], states[place:place + _AT_ONCE],
                                 real[place:place + _AT_ONCE]) for place in range(0, len(vectors), _AT_ONCE)]
        return _float64(np.concatenate(parts))


def scaled(vectors: Floats) -> Any:
    """Return vectors of length 1 as an adapter of kind mlp reads them: numbers of about 1, [N, D] float32."""
    return (vectors * np.sqrt(vectors.shape[1])).astype(np.float32)


def save(model: ValueModel, path: Path) -> None:
    """Write a model. Its facts are JSON in the file's header."""
    facts = {**model.facts, "embedder": model.embedder, "kind": model.kind}
    safetensors.numpy.save_file(_tensors(model), path, metadata={_FACTS: json.dumps(facts, sort_keys=True)})


def load(path: Path) -> ValueModel:
    """Read a model. Raises NoValueModel."""
    try:
        with safe_open(path, "numpy") as file:
            facts = json.loads((file.metadata() or {}).get(_FACTS, "null"))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping
    except (OSError, SafetensorError, ValueError) as error:
        raise NoValueModel(f"{path}: found no safetensors file with a value model ({error})") from error
    known = isinstance(facts, dict) and facts.get("kind") in ("mlp", "queries")
    if not known or not {_LAM, _TAU} <= weights.keys():
        raise NoValueModel(f"{path}: found no facts of a value model, expected a file of `hone value train`")
    if not all(np.isfinite(values).all() for values in weights.values()):
        raise NoValueModel(f"{path}: found weights that are no numbers")
    lam, tau = (float(np.exp(weights.pop(name))) for name in (_LAM, _TAU))
    return ValueModel(facts["embedder"], facts["kind"], weights, RidgeWeights(lam, tau), facts)


def _tensors(model: ValueModel) -> dict[str, NDArray[np.float32]]:
    return {**model.weights, _LAM: np.array(np.log(model.ridge.lam), np.float32),
            _TAU: np.array(np.log(model.ridge.tau), np.float32)}


def _float64(values: Any) -> Floats:
    floats: Floats = np.asarray(values, np.float64)
    return floats
