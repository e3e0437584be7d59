"""The page of a route: its objective in words, and its curves as they are drawn."""

from hone.client.routing_resources import CandidateFindings, RouteEvaluation, RoutePoint
from services.console.pages import routes


def test_an_objective_in_words() -> None:
    assert routes.chosen_by({"target": 0.7}) == "success that is enough 0.7"
    assert routes.chosen_by({"max_cost": 3.0}) == "highest cost 3"


def test_each_who_chooses_is_a_series_by_cost() -> None:
    points = [RoutePoint(setting="0.5", cost=0.25, quality=0.5), RoutePoint(setting="1", cost=1.0, quality=0.75)]
    found = RouteEvaluation(
        route="tasks", prompts=40, candidates=[CandidateFindings(
            model="small", cost=1, rows=40, quality=0.5, predicted=0.5, calibration_error=0.1)],
        curves={"router": points, "length": points}, half={"router": 0.6, "length": None}, largest=0.75,
        head_version="ridge/hashed")
    drawn = routes.chart(found)
    assert [(one["name"], one["type"]) for one in drawn["series"]] == [
        ("The route", "line"), ("By length of prompts", "scatter")]
    assert drawn["series"][0]["data"] == [[0.25, 0.5], [1.0, 0.75]]
