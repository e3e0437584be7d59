"""The part of the SDK's client that makes simulators of users, and asks them how a group reacts."""

from collections.abc import Mapping, Sequence
from typing import Any

from hone.client.audience_resources import (
    AudienceEvaluation,
    AudienceFit,
    AudienceReaction,
    MeasuredMerchant,
    MinedPolicies,
)
from hone.client.nouns import Listing
from hone.client.requests import Requests
from hone.client.resources import Page
from hone.client.transport import rest_path

_ANSWER_S = 620.0
"""Seconds that a reasoner may take for all personas of a group, or of an evaluation's groups."""


class Audiences(Requests):
    """Methods of audiences: users of whom it is predicted how they react to a merchant's strategy."""

    def fit_audience(
        self, dataset: str, params: Mapping[str, Any] | None = None, reasoner: Mapping[str, Any] | None = None,
    ) -> AudienceFit:
        """Ask for a simulator of the users in a dataset of behaviour; `audience_fit` says how far it is.

        `reasoner` is {"judge": NAME}, or {"formulas": …}; without one the fitted model stands alone. Raises Refused.
        """
        return self._send(AudienceFit, "POST", "/v1/audiences/fits", json={
            "dataset": dataset, "params": dict(params or {}), "reasoner": reasoner and dict(reasoner)})

    def audience_fit(self, fit_id: str) -> AudienceFit:
        """Return a fit."""
        return self._get(AudienceFit, rest_path("audiences", "fits", fit_id))

    audience_fits = Listing(Page[AudienceFit], "audiences", "fits")
    """List fits, the newest first."""

    def audience_policies(self, fit_id: str) -> MinedPolicies:
        """Return the decision policies that a fit found."""
        return self._get(MinedPolicies, rest_path("audiences", "fits", fit_id, "policies"))

    def audience_merchants(
        self, fit_id: str, limit: int = 200, after: str | None = None,
    ) -> Page[MeasuredMerchant]:
        """List the merchants by which a fit was calibrated, with their measured rates and the predicted ones."""
        return self._get(Page[MeasuredMerchant], rest_path("audiences", "fits", fit_id, "merchants"), limit=limit,
                         after=after)

    def delete_audience_fit(self, fit_id: str) -> AudienceFit:
        """Delete a fit with all that it said. Returns what it was."""
        return self._send(AudienceFit, "DELETE", rest_path("audiences", "fits", fit_id))

    def simulate_audience(
        self, fit_id: str, merchant: Mapping[str, Any], strategy: Mapping[str, Any],
        segment: Sequence[Mapping[str, Any]] = (), seed: int = 0,
    ) -> AudienceReaction:
        """Return how users of a segment react to a merchant's strategy. Raises Refused, with the field."""
        return self._send(AudienceReaction, "POST", rest_path("audiences", "fits", fit_id, "simulate"),
                          timeout=_ANSWER_S, json={"merchant": dict(merchant), "strategy": dict(strategy),
                                                   "segment": list(segment), "seed": seed})

    def evaluate_audience(self, fit_id: str, groups: Sequence[Mapping[str, Any]]) -> AudienceEvaluation:
        """Return how far a fit is from measured groups, as in `simulate_audience`, with `rates` by step and `users`."""
        return self._send(AudienceEvaluation, "POST", rest_path("audiences", "fits", fit_id, "evaluate"),
                          timeout=_ANSWER_S, json={"groups": list(groups)})

    def calibrate_audience(self, fit_id: str, shrinkage: float = 200.0) -> AudienceFit:
        """Weigh reasoner and fitted model anew by the stored groups of a fit; no model is asked."""
        return self._send(AudienceFit, "POST", rest_path("audiences", "fits", fit_id, "calibrate"),
                          json={"shrinkage": shrinkage})
