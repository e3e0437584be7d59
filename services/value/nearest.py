"""The prompts of a run that are nearest to a text, by the cosine of their features."""

import asyncio
import time

import numpy as np

from hone.algorithms.inputs import Floats
from hone.api import value_pb2
from hone.rpc import outage
from hone.rpc.errors import InvalidField
from hone.store.database import AsyncDatabase
from services.value.features import Features

MOST = 500
"""Neighbours of one answer."""
LONGEST_S = 20.0
"""Seconds after which the rest of a run's prompts is left out."""
_PAGE = 1024


class Nearest:
    """Compares a text with the prompts of a run, a page at a time, for a bounded time."""

    def __init__(self, database: AsyncDatabase, features: Features, longest_s: float = LONGEST_S) -> None:
        self._database, self._features, self._longest_s = database, features, longest_s

    async def find(self, request: value_pb2.NearestRequest) -> value_pb2.NearestResponse:
        """Return the nearest prompts with an outcome. Raises InvalidField."""
        _check(request)
        until, [asked] = time.monotonic() + self._longest_s, await self._features.of_texts([request.text])
        with outage.reported():
            rows = await self._database.all(
                "prompts.asked", run_id=request.run_id, purpose=request.purpose or None,
                version_id=request.version_id or None, step=request.step if request.HasField("step") else None)
            hashes = [row["task_hash"] for row in rows]
            found, compared, seen = list[tuple[float, str]](), 0, 0
            while seen < len(hashes) and (not seen or time.monotonic() < until):
                page = await self._compared(request.run_id, hashes[seen:seen + _PAGE], asked)
                seen, compared = seen + _PAGE, compared + len(page)
                found = sorted([*found, *page], key=lambda one: (-one[0], one[1]))[:request.most]
        return value_pb2.NearestResponse(
            neighbours=[value_pb2.Neighbour(task_hash=task_hash, cosine=cosine) for cosine, task_hash in found],
            compared=compared, left_out=max(0, len(hashes) - seen))

    async def _compared(self, run_id: str, hashes: list[str], asked: Floats) -> list[tuple[float, str]]:
        """Return cosine and hash of each of these prompts whose text is stored."""
        rows = await self._database.all("prompts.texts", run_id=run_id, task_hashes=hashes)
        features = await self._features.of_rows(run_id, rows)
        cosines = await asyncio.to_thread(_cosines, features, asked)
        return [(cosine, row["task_hash"]) for cosine, row in zip(cosines, rows, strict=True)]


def _cosines(features: Floats, asked: Floats) -> list[float]:
    """Return the cosine of each row with `asked`, to nine digits; 0 where either is zero."""
    if not len(features):
        return []
    lengths = np.linalg.norm(features, axis=1) * np.linalg.norm(asked)
    found: list[float] = np.round(features @ asked / np.where(lengths > 0, lengths, 1.0), 9).tolist()
    return found


def _check(request: value_pb2.NearestRequest) -> None:
    if not request.text:
        raise InvalidField("text", request.text, "a text that is not empty")
    if not 0 < request.most <= MOST:
        raise InvalidField("most", request.most, f"1 to {MOST}")
    for field in ("run_id", "version_id", "purpose"):
        if "\0" in getattr(request, field):
            raise InvalidField(field, getattr(request, field), "a text without the character NUL")
