"""Observations and transitions as their messages."""

from collections.abc import Iterable

from hone.api import simulation_pb2
from hone.environments.contract import Message, Observation, Transition
from hone.environments.hashing import canonical


def observation(seen: Observation) -> simulation_pb2.Observation:
    """Return an observation as its message."""
    known = seen.entities
    return simulation_pb2.Observation(
        messages=_messages(seen.messages), item_json=canonical(seen.item), grader_json=canonical(seen.grader),
        turns_left=seen.turns_left, state_hash=seen.state_hash, tools_json=canonical(seen.tools) if seen.tools else "",
        admissible=_names(seen.admissible), entities=_names(known.present if known else None),
        lexicon=_names(known.lexicon if known else None),
        ask=simulation_pb2.Ask(role=seen.ask.role, messages=_messages(seen.ask.messages)) if seen.ask else None)


def transition(taken: Transition) -> simulation_pb2.StepResponse:
    """Return a transition as its message."""
    return simulation_pb2.StepResponse(
        observation=observation(taken.observation), done=taken.done, valid=taken.valid, reward=taken.reward,
        effect=taken.effect, rules=taken.rules)


def _messages(said: Iterable[Message]) -> list[simulation_pb2.Message]:
    return [simulation_pb2.Message(**message) for message in said]


def _names(names: list[str] | None) -> simulation_pb2.Names | None:
    return None if names is None else simulation_pb2.Names(names=names)
