"""Worth of a route: its curve of cost and quality, over prompts that all candidates have a recorded outcome of."""

import math
from collections.abc import Sequence

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.routing import curve
from hone.algorithms.routing.curve import Curve
from hone.algorithms.value.metrics import auc, calibration_error
from hone.api import value_pb2
from hone.client.routing_resources import CandidateFindings, Route, RouteEvaluation, RoutePoint
from services.gateway.middleware.errors import Conflict
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.openai.calls import EngineCalls
from services.gateway.routing import stored
from services.gateway.routing.stored import Candidate

FEWEST = 20
"""Prompts below which curves say nothing."""


async def of_route(session: TenantSession, calls: EngineCalls, route: Route) -> RouteEvaluation:
    """Return the findings. Raises Conflict where the candidates have too few prompts in common."""
    candidates = (await stored.present(session, route)).candidates
    if len(candidates) < 2:
        raise Conflict(f"Found {len(candidates)} candidates of the route that are there, expected at least 2.")
    found = await calls.route_outcomes(session, value_pb2.RouteOutcomesRequest(
        tenant_id=session.tenant_id, candidates=[
            value_pb2.RouteCandidate(model=one.model, subject_id=one.subject_id, cost=one.cost) for one in candidates]))
    if len(found.prompts) < FEWEST:
        own = ", ".join(f"{one.model} {rows}" for one, rows in zip(candidates, found.rows, strict=True))
        raise Conflict(f"Found {len(found.prompts)} prompts that every candidate has an outcome of, expected at least "
                       f"{FEWEST}; prompts with an outcome: {own}. `hone route evaluate` grades them on a dataset.")
    return findings(route.name, candidates, found)


def findings(
    name: str, candidates: Sequence[Candidate], found: value_pb2.RouteOutcomesResponse
) -> RouteEvaluation:
    """Return the curves, and how well each candidate was predicted."""
    outcomes = np.array([list(prompt.outcomes) for prompt in found.prompts])
    predicted = np.array([list(prompt.predictions) for prompt in found.prompts])
    lengths = np.array([float(len(prompt.text)) for prompt in found.prompts])
    costs, names = [one.cost for one in candidates], [one.model for one in candidates]
    made = curve.evaluate(outcomes, predicted, lengths, costs, names)
    return RouteEvaluation(
        route=name, prompts=len(found.prompts), head_version=found.head_version,
        candidates=[_candidate(one, rows, outcomes[:, place], predicted[:, place])
                    for place, (one, rows) in enumerate(zip(candidates, found.rows, strict=True))],
        curves={kind: _shown(points) for kind, points in made.curves.items()},
        half={kind: None if math.isnan(value) else value for kind, value in made.half.items()},
        largest=float(outcomes[:, int(np.argmax(costs))].mean()))


def _candidate(one: Candidate, rows: int, outcomes: Floats, predicted: Floats) -> CandidateFindings:
    area = auc(outcomes, predicted)
    return CandidateFindings(
        model=one.model, cost=one.cost, rows=rows, quality=float(outcomes.mean()), predicted=float(predicted.mean()),
        auc=None if math.isnan(area) else area,
        calibration_error=calibration_error(outcomes, predicted))


def _shown(points: Curve) -> list[RoutePoint]:
    ordered = sorted(points, key=lambda point: (point.cost, point.quality))
    return [RoutePoint(setting=one.setting, cost=one.cost, quality=one.quality) for one in ordered]
