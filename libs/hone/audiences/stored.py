"""A simulator as JSON: columns, policies, the numbers of both models, users, and the weights of the fusion."""

from collections.abc import Mapping
from typing import Any

from hone.audiences import models
from hone.audiences.columns import Columns
from hone.audiences.decision_policies import DecisionPolicy, PolicySet
from hone.audiences.fusion import Fusion
from hone.audiences.simulator import Anchor, KnownUser, Simulator

FORMAT = 1


class NoSimulator(ValueError):
    """The JSON is no simulator of this release."""


def as_json(made: Simulator) -> dict[str, Any]:
    """Return a simulator as an object of JSON."""
    return {
        "format": FORMAT,
        "columns": {"numbers": list(made.columns.numbers),
                    "levels": {name: list(known) for name, known in made.columns.levels.items()}},
        "steps": list(made.steps), "base_rates": list(made.policies.base_rates),
        "policies": [one.model_dump(mode="json") for one in made.policies.policies],
        "models": [one.as_json() for one in made.models], "drivers": [one.as_json() for one in made.drivers],
        "users": [{"id": one.id, "features": dict(one.features)} for one in made.users],
        "ranges": {name: list(bounds) for name, bounds in made.ranges.items()},
        "anchor": vars(made.anchor), "strata": list(made.strata), "policies_shown": made.policies_shown}


def of_json(stored: Mapping[str, Any]) -> Simulator:
    """Return the simulator of an object. Raises NoSimulator."""
    if stored.get("format") != FORMAT:
        raise NoSimulator(f"format: found {stored.get('format')!r}, expected {FORMAT}")
    try:
        return _of_json(stored)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise NoSimulator(f"a simulator: {type(error).__name__} {error}") from error


def fusion_as_json(fusion: Fusion) -> dict[str, Any]:
    """Return the weights of a fusion as an object of JSON."""
    return {"weights": list(fusion.weights), "strata": {name: list(own) for name, own in fusion.strata.items()}}


def fusion_of_json(stored: Mapping[str, Any]) -> Fusion:
    """Return the weights of an object. Raises KeyError for one that is none."""
    return Fusion(tuple(stored["weights"]), {name: tuple(own) for name, own in stored["strata"].items()})


def _of_json(stored: Mapping[str, Any]) -> Simulator:
    known = Columns(tuple(stored["columns"]["numbers"]),
                    {name: tuple(levels) for name, levels in stored["columns"]["levels"].items()})
    policies = PolicySet(known.names, tuple(stored["steps"]), tuple(stored["base_rates"]),
                         tuple(DecisionPolicy.model_validate(one) for one in stored["policies"]))
    return Simulator(
        known, policies, tuple(map(models.of_json, stored["models"])),
        tuple(KnownUser(one["id"], one["features"]) for one in stored["users"]),
        {name: (low, high) for name, (low, high) in stored["ranges"].items()},
        tuple(map(models.of_json, stored["drivers"])), Anchor(**stored["anchor"]), tuple(stored["strata"]),
        stored["policies_shown"])
