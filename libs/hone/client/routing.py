"""The part of the SDK's client that sets routes, reads their decisions, and says how good answers were."""

from collections.abc import Mapping, Sequence
from typing import Any

from hone.client.nouns import Deleting, Listing, Reading
from hone.client.requests import Requests
from hone.client.resources import Page
from hone.client.routing_resources import Decision, Feedback, Route, RouteEvaluation
from hone.client.transport import rest_path


class Routing(Requests):
    """Methods of routes: names, hone/NAME, under which one of several models answers."""

    routes = Listing(Page[Route], "routes")
    """List routes by name."""

    route = Reading(Route, "routes")
    """Return a route."""

    def put_route(self, name: str, candidates: Sequence[str | Mapping[str, Any]], **options: float) -> Route:
        """Make or change a route; `options` are weight, target or max_cost, and exploration.

        A candidate is a model's name, or a mapping with `model` and `cost`. Raises Invalid, with the field.
        """
        listed = [{"model": one} if isinstance(one, str) else dict(one) for one in candidates]
        return self._send(Route, "PUT", rest_path("routes", name), json={"candidates": listed, **options})

    delete_route = Deleting(Route, "routes")
    """Delete a route with its decisions and what was said of them. Returns what it was."""

    def decisions(self, name: str, limit: int = 50, after: str | None = None) -> Page[Decision]:
        """List a route's decisions, newest first."""
        return self._get(Page[Decision], rest_path("routes", name, "decisions"), limit=limit, after=after)

    def route_evaluation(self, name: str) -> RouteEvaluation:
        """Return the curves of cost and quality of a route over prompts that all candidates have an outcome of."""
        return self._get(RouteEvaluation, rest_path("routes", name, "evaluation"))

    def feedback(self, id: str, score: float, comment: str = "") -> Feedback:
        """Say how good the answer of a route was, from 0 to 1. `id` is the chat completion's. The last word counts."""
        return self._send(Feedback, "POST", "/v1/feedback", json={"id": id, "score": score, "comment": comment})
