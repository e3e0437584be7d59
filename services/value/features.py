"""Features of prompts: embedded when they are needed first, and kept with the prompts of a run and in memory."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.value.model import ValueModel
from hone.models.embedders import Embedder
from hone.store.database import AsyncDatabase, Row
from hone.text.conversation import clipped_prompt

MOST_KEPT = 16_384
"""Prompts whose features are in memory."""


class Features:
    """The features of prompts, as one embedder and the adapter of one model make them."""

    def __init__(self, database: AsyncDatabase, embedder: Embedder, model: ValueModel) -> None:
        self._database, self._embedder, self._model, self.version = database, embedder, model, model.version
        self._kept: OrderedDict[bytes, Floats] = OrderedDict()  # by the digest of the text

    async def of_rows(self, run_id: str, rows: Sequence[Row]) -> Floats:
        """Return the features of rows of prompts, [N, F]. What was computed is stored with the run's prompts."""
        lacking = [row for row in rows if row["features_by"] != self.version]
        made = dict(zip((row["task_hash"] for row in lacking), await self.of_texts([row["text"] for row in lacking]),
                        strict=True))
        if made:
            await self._database.run(
                "prompts.keep_features", run_id=run_id, by=self.version, task_hashes=list(made),
                features=[features.astype("<f4").tobytes() for features in made.values()])
        return _stacked([made.get(row["task_hash"], _stored(row)) for row in rows])

    async def of_texts(self, texts: Sequence[str]) -> Floats:
        """Return the features of prompts by their texts, [N, F]."""
        clipped = [clipped_prompt(text) for text in texts]
        digests = [hashlib.sha256(text.encode()).digest() for text in clipped]
        known = {digest: self._kept[digest] for digest in digests if digest in self._kept}
        missing = {digest: text for digest, text in zip(digests, clipped, strict=True) if digest not in known}
        found = dict(zip(missing, await asyncio.to_thread(self._made, list(missing.values())), strict=True))
        self._keep(found)
        return _stacked([known[digest] if digest in known else found[digest] for digest in digests])

    def _made(self, texts: Sequence[str]) -> Floats:
        return self._model.features(self._embedder.encode(texts))

    def _keep(self, found: Mapping[bytes, Floats]) -> None:
        self._kept.update({digest: features.astype(np.float32) for digest, features in found.items()})
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


def _stacked(rows: Sequence[Floats]) -> Floats:
    """Return rows as one array. Stored features have 4 bytes a number, so all are rounded to that first."""
    return np.array(rows, np.float32).astype(np.float64) if rows else np.zeros((0, 0))


def _stored(row: Row) -> Floats:
    return np.frombuffer(row["features"] or b"", "<f4")
