"""Routes: the model that answers a prompt, and the outcomes by which a route is judged."""

import asyncio
import hashlib
import math
from collections.abc import Sequence

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.routing import decision
from hone.algorithms.routing.chances import chances, cross_predicted
from hone.algorithms.routing.decision import DEFAULT_WEIGHT, Objective
from hone.algorithms.value.heads import RidgeWeights
from hone.api import value_pb2
from hone.rpc import outage
from hone.rpc.errors import InvalidField
from services.value.features import Features
from services.value.profiles import Profile, Profiles

MOST_CANDIDATES, MOST_COMPARED = 32, 4096
"""Candidates of a route, and prompts of an evaluation."""
FOLDS = 4
"""Parts into which prompts are divided; each is predicted from the others."""


class Router:
    """Decides which model answers. The same outcomes and the same id give the same answer."""

    def __init__(self, profiles: Profiles, features: Features, head: str, weights: RidgeWeights) -> None:
        self._profiles, self._features, self._head, self._weights = profiles, features, head, weights

    @property
    def version(self) -> str:
        """Embedder, features and head."""
        return f"{self._head}/{self._features.version}"

    async def route(self, request: value_pb2.RouteRequest) -> value_pb2.RouteResponse:
        """Return the candidate that answers a prompt, with the reason. Raises InvalidField."""
        objective = _objective(request)
        costs = _costs(request.candidates)
        if not 0.0 <= request.exploration <= 1.0:
            raise InvalidField("exploration", request.exploration, "a share from 0 to 1")
        with outage.reported():
            profiles = [await self._profiles.recent(request.tenant_id, one.subject_id) for one in request.candidates]
        query = await self._features.of_texts([request.prompt])
        found = await asyncio.to_thread(lambda: [self._chances(profile, query) for profile in profiles])
        predicted = np.array([p[0] for p, _ in found])
        made = decision.decide(predicted, costs, objective, request.exploration, decision.draw(request.decision_id))
        return value_pb2.RouteResponse(
            chosen=made.place, reason=made.reason, explored=made.explored, propensity=made.propensity,
            head_version=self.version, scores=[
                value_pb2.RouteScore(p=p[0], score=score, rows=len(profile.texts), doubt=doubt)
                for (p, doubt), score, profile in zip(found, made.scores, profiles, strict=True)])

    async def outcomes(self, request: value_pb2.RouteOutcomesRequest) -> value_pb2.RouteOutcomesResponse:
        """Return prompts that all candidates have an outcome of, each predicted from others. Raises InvalidField."""
        _costs(request.candidates)
        with outage.reported():
            profiles = [await self._profiles.read(request.tenant_id, one.subject_id, MOST_COMPARED)
                        for one in request.candidates]
        shared = [text for text in profiles[0].texts if all(text in set(one.texts) for one in profiles)]
        columns = await asyncio.to_thread(lambda: [self._compared(profile, shared) for profile in profiles])
        return value_pb2.RouteOutcomesResponse(
            rows=[len(profile.texts) for profile in profiles], head_version=self.version, prompts=[
                value_pb2.RoutedPrompt(text=text, outcomes=[outcomes[place] for outcomes, _ in columns],
                                       predictions=[predicted[place] for _, predicted in columns])
                for place, text in enumerate(shared)])

    def _chances(self, profile: Profile, query: Floats) -> tuple[Floats, str]:
        return chances(profile.features, profile.outcomes, query, self._head, self._weights)

    def _compared(self, profile: Profile, shared: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the outcomes and the predictions of shared prompts, both [N]."""
        folds = np.array([hashlib.sha256(text.encode()).digest()[0] % FOLDS for text in profile.texts], np.float64)
        predicted = cross_predicted(profile.features, profile.outcomes, folds, self._head, self._weights)
        places = {text: place for place, text in enumerate(profile.texts)}
        chosen = [places[text] for text in shared]
        return profile.outcomes[chosen], predicted[chosen]


def _objective(request: value_pb2.RouteRequest) -> Objective:
    kind = request.WhichOneof("objective") or "weight"
    value = getattr(request, kind) if request.WhichOneof("objective") else DEFAULT_WEIGHT
    if not math.isfinite(value) or value < 0 or (kind != "max_cost" and value > 1):
        raise InvalidField(kind, value, "a cost of at least 0" if kind == "max_cost" else "a number from 0 to 1")
    return Objective(**{kind: value})


def _costs(candidates: Sequence[value_pb2.RouteCandidate]) -> list[float]:
    if not 0 < len(candidates) <= MOST_CANDIDATES:
        raise InvalidField("candidates", f"{len(candidates)} candidates", f"1 to {MOST_CANDIDATES}")
    for place, one in enumerate(candidates):
        if not one.subject_id or "\0" in one.subject_id:
            raise InvalidField(f"candidates[{place}].subject_id", one.subject_id, "the id of a model or a version")
        if not (math.isfinite(one.cost) and one.cost >= 0):
            raise InvalidField(f"candidates[{place}].cost", one.cost, "a finite cost of at least 0")
    return [one.cost for one in candidates]
