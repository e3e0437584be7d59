"""A user whose first words a model finds, through the door: an agent elsewhere hears them, and answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from hone.api.simulation_pb2 import CreateUserRequest, SayRequest, Voice
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from tests.acceptance.scene import Scene
from tests.servers.judge import KEY, ScriptedJudge, listening

ADA = {"prompt": "It is about my order.", "goal": {"text": "I want to cancel my order.", "hears": ["cancelled"]},
       "knowledge": [{"name": "name", "value": "Ada Berg", "reveal": "opening"},
                     {"name": "order", "value": "W1234", "form": "W9999", "asked": ["order number"]}]}
PARAMS = {"words": "model", "opening": "model"}
VOICE = Voice(endpoint="ada")


@pytest.fixture(scope="module")
def customers() -> Iterator[ScriptedJudge]:
    with listening() as server:
        yield server


@pytest.fixture(scope="module")
def simulation(scene: Scene, customers: ScriptedJudge) -> Iterator[Any]:
    scene.client.put_secret("ada-key", KEY)
    scene.client.put_judge("ada", customers.url, "customer-1", secret="ada-key", timeout_s=5, attempts=1)
    record = scene.stack.record()
    trusted = grpc.composite_channel_credentials(
        grpc.ssl_channel_credentials(Path(record.door_certificate).read_bytes()),
        grpc.access_token_call_credentials(record.api_key))
    with grpc.secure_channel(record.door_address, trusted) as channel:
        yield SimulationServiceStub(channel)


def words(system: str) -> str:
    """Leave the name out of the first words at first, and say what has to be said later."""
    if "leave, and end your message" in system:
        return "Thanks, that is all. ###STOP###"
    if "Begin:" not in system:
        return "It is W1234."
    return "Hi, I am Ada Berg, about an order." if "That is refused" in system else "Hi!"


def created(simulation: Any, seed: int = 7) -> str:
    made = simulation.CreateUser(CreateUserRequest(
        user_json=json.dumps(ADA), params_json=json.dumps(PARAMS), seed=seed), timeout=120)
    assert made.words == "", "a model finds the first words"
    return str(made.session.session_id)


def test_a_model_speaks_for_a_user_from_its_first_words_to_its_last_through_the_door(
    simulation: Any, customers: ScriptedJudge,
) -> None:
    customers.says = words
    session, index, heard = created(simulation), 0, []
    for text in ("", "What is your order number?", "It is cancelled."):
        said = simulation.Say(SayRequest(session_id=session, index=index, text=text, voice=VOICE), timeout=120)
        again = simulation.Say(SayRequest(session_id=session, index=index, text=text, voice=VOICE), timeout=120)
        assert (again.words, again.next_index) == (said.words, said.next_index), "a repeated call asks no model again"
        index = said.next_index
        heard.append(said.words)
    assert heard == ["Hi, I am Ada Berg, about an order.", "It is W1234.", "Thanks, that is all."]
    assert said.done
    item = json.loads(said.item_json)
    assert (item["reason"], item["verified"]) == ("goal", 1.0)
    assert [one["words"] for one in item["refused"]] == ["Hi!"]
    assert len(customers.asked) == 4


def test_first_words_are_due_before_a_text_of_the_agent_and_a_silent_endpoint_is_asked_once(
    simulation: Any, customers: ScriptedJudge,
) -> None:
    session = created(simulation, seed=8)
    with pytest.raises(grpc.RpcError) as early:
        simulation.Say(SayRequest(session_id=session, text="Hello?", voice=VOICE), timeout=120)
    assert early.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert str(early.value.details()).startswith("text: found 'Hello?', expected an empty text")
    customers.asked.clear()
    customers.says, customers.verdict = None, lambda _: "away"
    with pytest.raises(grpc.RpcError) as away:
        simulation.Say(SayRequest(session_id=session, voice=VOICE), timeout=120)
    assert away.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "ada gave no words for the user" in str(away.value.details())
    assert len(customers.asked) == 1, "the terms allow one attempt"
    with pytest.raises(grpc.RpcError) as unknown:
        simulation.Say(SayRequest(session_id=session, voice=Voice(endpoint="nobody")), timeout=120)
    assert unknown.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "voice.endpoint: found 'nobody', expected a judge or a model that is there" in str(unknown.value.details())
