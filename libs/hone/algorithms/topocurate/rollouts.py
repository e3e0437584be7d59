"""Stored samples as rollouts of a graph: what a sample did, and whether it succeeded."""

import json

from hone.algorithms.topocurate.turns import Turn
from hone.trajectory.records import Trajectory


def turns(trajectory: Trajectory) -> list[Turn]:
    """Return a sample's actions: the steps of its environment, or its answers where it took no step."""
    if trajectory.steps:
        return [_turn(step.action, step.valid, "\n".join(str(one.get("content", "")) for one in step.said))
                for step in trajectory.steps]
    return [Turn(call.kind, call.text, ok=True, observation="") for call in trajectory.calls if call.role == "policy"]


def _turn(action: str, valid: bool, observation: str) -> Turn:
    """Return a step as a turn. An action is the JSON of a tool call, or a text."""
    try:
        given = json.loads(action)
    except ValueError:
        given = None
    if isinstance(given, dict) and isinstance(given.get("tool"), str) and isinstance(given.get("arguments"), dict):
        return Turn(given["tool"], given["arguments"], valid, observation)
    return Turn("", action, valid, observation)
