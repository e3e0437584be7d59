"""Answers of a simulation, as a harness hears them and as a trajectory keeps them."""

import json

from hone.api import simulation_pb2
from hone.environments.contract import Ask, Entities
from hone.environments.hashing import digest
from hone.environments.messages import from_proto
from hone.harnesses.seat import Heard, Taken
from hone.trajectory.records import Step


def taken(response: simulation_pb2.StepResponse) -> Taken:
    """Return the result of a step as harnesses hear it."""
    seen = response.observation
    lexicon = list(seen.lexicon.names) if seen.HasField("lexicon") else None
    heard = Heard(
        from_proto(seen.messages), seen.turns_left, response.valid,
        response.effect if response.HasField("effect") else None,
        list(seen.admissible.names) if seen.HasField("admissible") else None,
        Entities(list(seen.entities.names), lexicon) if seen.HasField("entities") else None,
        json.loads(seen.item_json or "{}").get("verified") if response.done else None)
    return Taken(heard, response.done, question(seen))


def question(seen: simulation_pb2.Observation) -> Ask | None:
    """Return the environment's question to a role; None without a question."""
    return Ask(seen.ask.role, from_proto(seen.ask.messages)) if seen.HasField("ask") else None


def step(index: int, call: int, action: str, response: simulation_pb2.StepResponse) -> Step:
    """Return the record of a step, which the call with that index took; -1: the harness took it before its first."""
    seen = response.observation
    said = from_proto(seen.messages)
    return Step(
        index=index, call=call, action=action, said=said, observation_hash=digest(said), state_hash=seen.state_hash,
        valid=response.valid, effect=response.effect if response.HasField("effect") else None,
        reward=response.reward if response.HasField("reward") else None,
        admissible=list(seen.admissible.names) if seen.HasField("admissible") else None,
        entities=list(seen.entities.names) if seen.HasField("entities") else None,
        injection=json.loads(response.injection_json or "{}"),
        rules=dict(sorted(response.rules.items())))  # protobuf maps have no order, stored ones have
