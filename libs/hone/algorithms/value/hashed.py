"""The embedder that needs no model: hashed character trigrams, and the shape of a text."""

from collections.abc import Sequence

import numpy as np

from hone.algorithms.inputs import Floats, Ints

NAME = "hashed-v1"
_TRIGRAMS, _SHAPE = 504, 8
WIDTH = _TRIGRAMS + _SHAPE


def embed(texts: Sequence[str]) -> Floats:
    """Return a vector of length 1 for each text, [N, 512].

    504 numbers are sign * log(1 + |sum of signs|) of the UTF-8 trigrams in a bucket, together of length 1; the others
    tell how long the text is and what it is made of.
    """
    rows = np.array([_row(text) for text in texts]).reshape(len(texts), WIDTH)
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def tokens(text: str) -> int:
    """Return the number of words."""
    return len(text.split())


def _row(text: str) -> Floats:
    counts = np.bincount(*_buckets(text), minlength=_TRIGRAMS)
    grams = np.sign(counts) * np.log1p(np.abs(counts))
    length = np.linalg.norm(grams)
    return np.concatenate([grams / length if length else grams, _shape(text)])


def _buckets(text: str) -> tuple[Ints, Floats]:
    """Return the bucket and the sign of each trigram."""
    data = np.frombuffer(f" {text} ".encode(errors="replace"), np.uint8).astype(np.uint64)
    codes = (data[:-2] << np.uint64(16)) | (data[1:-1] << np.uint64(8)) | data[2:]
    mixed = codes * np.uint64(0x9E3779B97F4A7C15)  # it wraps: the upper bits depend on all of the code
    signs = np.where((mixed >> np.uint64(63)) > 0, 1.0, -1.0)
    return ((mixed >> np.uint64(32)) % np.uint64(_TRIGRAMS)).astype(np.int64), signs


def _shape(text: str) -> Floats:
    """Return 1, and the logarithms of 1 + how many characters, words, lines, numbers and kinds of characters it has."""
    digits, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
    counts = [len(text), len(text.split()), text.count("\n"), digits, letters, len(text) - digits - letters,
              len(set(text))]
    return np.concatenate([[1.0], np.log1p(counts)]) / 10.0
