"""Predictions of V0: the context of a policy is read, and its head answers for the prompts that are asked about."""

import asyncio
import hashlib
import json
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hone.algorithms.value import predicting
from hone.algorithms.value.heads import RidgeWeights
from hone.algorithms.value.predicting import CONTEXT_ROWS, OLDEST_STEPS, Predicted
from hone.api import value_pb2
from hone.rpc import outage
from hone.rpc.errors import InvalidField
from hone.store.database import AsyncDatabase, Row
from services.value.features import Features

MOST_PROMPTS = 4096
"""Prompts of one request."""


class _Asked(NamedTuple):
    """A prompt of a request, without text where none is known."""

    task_hash: str
    text: str


class Predictor:
    """Predicts success. The same outcomes, embedder and head give the same bits."""

    def __init__(
        self, database: AsyncDatabase, features: Features, head: str, weights: RidgeWeights, clusters: int = 0
    ) -> None:
        self._database, self._features, self._head, self._weights = database, features, head, weights
        self._clusters, self._named = clusters, f"{head}-{clusters}" if clusters else head

    async def predict(self, request: value_pb2.PredictRequest) -> value_pb2.PredictResponse:
        """Return the success of a policy on prompts. Raises InvalidField."""
        bounds = _checked(request)
        with outage.reported():
            asked = await self._asked(request)
            rows = await self._context(request)
            context = await self._features.of_rows(request.run_id, rows)
        texts = list(dict.fromkeys(one.text for one in asked if one.text))
        queries = await self._features.of_texts(texts)
        outcomes = predicting.labels(np.array([row["mean"] for row in rows], np.float64), *bounds)
        predicted = await asyncio.to_thread(
            predicting.predict, context, outcomes, queries, self._head, self._weights, self._clusters)
        found = dict(zip(texts, zip(predicted.p, predicted.logits, strict=True), strict=True))
        answers = [found.get(one.text, (0.5, 0.0)) for one in asked]
        return self._response(answers, _doubts(asked, predicted), rows)

    async def _asked(self, request: value_pb2.PredictRequest) -> list[_Asked]:
        """Return the prompts that are asked about, with the stored texts of those that came without one."""
        lacking = [one.task_hash for one in request.prompts if not one.text]
        rows = await self._database.all(
            "prompts.texts", run_id=request.run_id, task_hashes=lacking) if lacking else []
        stored = {row["task_hash"]: row["text"] for row in rows}
        return [_Asked(one.task_hash, one.text or stored.get(one.task_hash, "")) for one in request.prompts]

    async def _context(self, request: value_pb2.PredictRequest) -> list[Row]:
        """Return the newest prompts with an outcome, without those that are asked about: they would tell the answer."""
        asked = sorted({one.task_hash for one in request.prompts})
        if request.version_id:
            return await self._database.all("prompts.context_of_version", run_id=request.run_id, asked=asked,
                                            version_id=request.version_id, most=CONTEXT_ROWS)
        since = max(request.since_step, request.before_step - OLDEST_STEPS)
        return await self._database.all("prompts.context_of_steps", run_id=request.run_id, asked=asked,
                                        since_step=since, before_step=request.before_step, most=CONTEXT_ROWS)

    def _response(
        self, answers: Sequence[tuple[float, float]], doubts: Sequence[str], rows: Sequence[Row]
    ) -> value_pb2.PredictResponse:
        return value_pb2.PredictResponse(
            predictions=[value_pb2.Prediction(p=p, logit=logit) for p, logit in answers], reliable=not doubts,
            reason="; ".join(doubts), head_version=f"{self._named}/{self._features.version}",
            context_digest=_digest(rows), context_rows=len(rows))


def _doubts(asked: Sequence[_Asked], predicted: Predicted) -> list[str]:
    """Return why predictions are unreliable. A prompt without text is one reason: its probability is 0.5."""
    silent = next((place for place, one in enumerate(asked) if not one.text), None)
    found = [predicted.unreliable] if predicted.unreliable else []
    if silent is not None:
        found.append(f"prompts[{silent}].text: found nothing, and the run has stored no text of this task")
    return found


def _digest(rows: Sequence[Row]) -> str:
    facts = [[row["task_hash"], row["step"], row["request_no"], row["samples"], float(row["mean"]).hex()]
             for row in rows]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _checked(request: value_pb2.PredictRequest) -> tuple[float, float]:
    """Return the smallest and the largest score of the grader. Raises InvalidField."""
    if not 0 < len(request.prompts) <= MOST_PROMPTS:
        raise InvalidField("prompts", f"{len(request.prompts)} prompts", f"1 to {MOST_PROMPTS}")
    for place, prompt in enumerate(request.prompts):
        if not prompt.task_hash or "\0" in prompt.task_hash:
            raise InvalidField(f"prompts[{place}].task_hash", prompt.task_hash, "the content hash of a task")
    for field in ("run_id", "version_id"):
        if "\0" in getattr(request, field):
            raise InvalidField(field, getattr(request, field), "an id")
    return bounds(request)


def bounds(
    request: value_pb2.AllocateRolloutsRequest | value_pb2.PredictRequest
) -> tuple[float, float]:
    """Return the smallest and the largest score that a request names, 0 and 1 without. Raises InvalidField."""
    low = request.lowest if request.HasField("lowest") else 0.0
    high = request.highest if request.HasField("highest") else 1.0
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidField("highest", high, f"a finite number above the lowest score, {low:g}")
    return low, high
