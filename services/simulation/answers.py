"""Observations and results of steps as messages of the protocol."""

from hone.api import simulation_pb2
from hone.environments import messages
from hone.environments.contract import Observation, Transition
from hone.environments.hashing import canonical


def observation_message(seen: Observation) -> simulation_pb2.Observation:
    """Return an observation as a protocol message."""
    known = seen.entities
    return simulation_pb2.Observation(
        messages=messages.to_proto(seen.messages), item_json=canonical(seen.item), grader_json=canonical(seen.grader),
        turns_left=seen.turns_left, state_hash=seen.state_hash,
        tools_json=messages.ordered(seen.tools) if seen.tools else "",
        admissible=_names(seen.admissible), entities=_names(known.present if known else None),
        lexicon=_names(known.lexicon if known else None),
        ask=simulation_pb2.Ask(role=seen.ask.role, messages=messages.to_proto(seen.ask.messages)) if seen.ask else None)


def transition_message(taken: Transition) -> simulation_pb2.StepResponse:
    """Return the result of a step as a protocol message."""
    return simulation_pb2.StepResponse(
        observation=observation_message(taken.observation), done=taken.done, valid=taken.valid, reward=taken.reward,
        effect=taken.effect, rules=taken.rules, injection_json=canonical(taken.injection) if taken.injection else "")


def _names(names: list[str] | None) -> simulation_pb2.Names | None:
    return None if names is None else simulation_pb2.Names(names=names)
