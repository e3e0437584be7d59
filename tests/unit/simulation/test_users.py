"""An agent elsewhere talks to a user: its words, repeated calls, a model's words that are checked, and bad requests."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from hone.api import simulation_pb2 as pb
from hone.api.trajectory_pb2 import Task
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Question, Reply
from hone.rpc.errors import InvalidField, NotReady, Refused
from hone.rpc.tenancy import KEY, TENANT
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions

CALL: Any = SimpleNamespace(invocation_metadata=lambda: [(TENANT, "ten_1"), (KEY, "key_1")])
ADA = {"goal": {"text": "I want to cancel my order.", "hears": ["cancelled"]}, "knowledge": [
    {"name": "name", "value": "Ada Berg", "reveal": "opening", "says": "I am {value}."},
    {"name": "order", "value": "W1234", "asked": ["order number"], "form": "W9999"}]}


class Judges:
    """Says what a list has, in order."""

    def __init__(self, *said: str) -> None:
        self.said, self.asked = list(said), list[Question]()

    async def ask(self, question: Question, turn: Any) -> Reply:
        assert (turn.tenant, turn.key) == ("ten_1", "key_1")
        self.asked.append(question)
        if not self.said:
            raise JudgeFailed(ErrorKind.MODEL_SERVER, "it is away")
        return Reply(self.said.pop(0), "model-1")


def service(judges: Judges | None = None) -> Simulation:
    made = Simulation("here", Sessions())
    made.audiences = None if judges is None else SimpleNamespace(judges=judges)  # type: ignore[assignment]
    return made


async def created(simulation: Simulation, **params: Any) -> tuple[str, str]:
    answer = await simulation.CreateUser(
        pb.CreateUserRequest(user_json=json.dumps(ADA), params_json=json.dumps(params), seed=3), CALL)
    return answer.session.session_id, answer.words


async def said(simulation: Simulation, session: str, index: int, text: str, voice: str = "") -> pb.SayResponse:
    named = pb.Voice(endpoint=voice) if voice else None
    return await simulation.Say(pb.SayRequest(session_id=session, index=index, text=text, voice=named), CALL)


async def test_a_scripted_user_answers_what_it_is_asked_and_leaves_when_it_has_what_it_wanted() -> None:
    simulation = service()
    session, opening = await created(simulation)
    assert "Ada Berg" in opening
    first = await said(simulation, session, 0, "What is your order number?")
    assert ("W1234" in first.words, first.done, first.next_index) == (True, False, 1)
    assert await said(simulation, session, 0, "What is your order number?") == first
    last = await said(simulation, session, first.next_index, "It is cancelled.")
    assert (last.done, json.loads(last.item_json)["verified"], json.loads(last.item_json)["reason"]) == (
        True, 1.0, "goal")
    with pytest.raises(Refused):
        await said(simulation, session, last.next_index, "Anything else?")


@pytest.mark.parametrize(("domain", "asks"), [("sales", "What matters most to you?"), ("orders", "Your name?")])
async def test_users_of_a_domain_are_drawn_by_their_seed(domain: str, asks: str) -> None:
    simulation = service()

    async def heard(seed: int) -> list[str]:
        drawn = await simulation.CreateUser(
            pb.CreateUserRequest(params_json=json.dumps({"domain": domain}), seed=seed), CALL)
        return [drawn.words, (await said(simulation, drawn.session.session_id, 0, asks)).words]

    talks = [await heard(seed) for seed in range(8)]
    assert talks == [await heard(seed) for seed in range(8)]
    assert len({*map(tuple, talks)}) > 1


async def test_a_models_words_are_checked_and_asked_for_again_and_a_repeated_call_asks_nobody() -> None:
    judges = Judges("My order is W9999.", "It is W1234.")
    simulation = service(judges)
    session, _ = await created(simulation, words="model")
    first = await said(simulation, session, 0, "What is your order number?", "customers")
    assert (first.words, first.next_index, len(judges.asked)) == ("It is W1234.", 3, 2)
    assert judges.asked[0].seed != judges.asked[1].seed
    assert await said(simulation, session, 0, "What is your order number?", "customers") == first
    assert len(judges.asked) == 2


async def test_a_model_that_is_away_may_be_asked_again_and_one_that_contradicts_the_user_may_not() -> None:
    judges = Judges()
    simulation = service(judges)
    session, _ = await created(simulation, words="model", most_retries=0)
    with pytest.raises(NotReady, match=r"customers gave no words for the user: .*it is away"):
        await said(simulation, session, 0, "What is your order number?", "customers")
    judges.said = ["My order is W9999."]
    with pytest.raises(Refused, match="contradicted the user"):
        await said(simulation, session, 0, "What is your order number?", "customers")


async def test_first_words_of_a_model_are_asked_for_by_an_empty_text_and_checked_as_others() -> None:
    judges = Judges()
    simulation = service(judges)
    session, opening = await created(simulation, words="model", opening="model")
    assert opening == ""
    with pytest.raises(InvalidField, match=r"text: found 'Hello\?', expected an empty text: the user speaks first"):
        await said(simulation, session, 0, "Hello?", "customers")
    with pytest.raises(InvalidField, match=r"voice.endpoint: found ''"):
        await said(simulation, session, 0, "")
    with pytest.raises(NotReady, match="it is away"):
        await said(simulation, session, 0, "", "customers")
    judges.said = ["Hello!", "Hello, I am Ada Berg."]
    first = await said(simulation, session, 0, "", "customers")
    assert (first.words, first.next_index, first.done) == ("Hello, I am Ada Berg.", 2, False)
    assert await said(simulation, session, 0, "", "customers") == first
    assert len(judges.asked) == 3
    judges.said = ["It is W1234."]
    assert (await said(simulation, session, 2, "What is your order number?", "customers")).words == "It is W1234."
    session, _ = await created(simulation, words="model", opening="model", most_retries=0)
    judges.said = ["Hello!"]
    with pytest.raises(Refused, match="contradicted the user 1 times"):
        await said(simulation, session, 0, "", "customers")


async def test_requests_that_cannot_be_served_name_the_field() -> None:
    simulation = service()
    session, _ = await created(simulation, words="model")
    with pytest.raises(InvalidField, match=r"voice.endpoint: found '', expected the name of a judge"):
        await said(simulation, session, 0, "Hello?")
    with pytest.raises(Refused, match="no model can be asked here"):
        await said(simulation, session, 0, "Hello?", "customers")
    for user, params, field in (
            ("{", "", "user_json"), ("{}", "", "user_json.goal"),
            (json.dumps(ADA), '{"domain": "sales"}', "params_json.domain"),
            (json.dumps(ADA), '{"opening": "model"}', "params_json"),
            (json.dumps(ADA), '{"words": "sung"}', "params_json.words")):
        with pytest.raises(InvalidField) as wrong:
            await simulation.CreateUser(pb.CreateUserRequest(user_json=user, params_json=params), CALL)
        assert wrong.value.field == field
    other = await simulation.Reset(pb.ResetRequest(tasks=[Task(environment="sort_digits")]), CALL)
    with pytest.raises(InvalidField, match="expected a session of a user"):
        await said(simulation, other.sessions[0].session_id, 0, "Hello?")


@pytest.mark.parametrize(("voice", "field"), [
    (pb.Voice(endpoint="a\0b"), "voice.endpoint"), (pb.Voice(endpoint="a", max_tokens=-5), "voice.max_tokens"),
    (pb.Voice(endpoint="a", temperature=float("nan")), "voice.temperature"),
    (pb.Voice(endpoint="a", temperature=-1), "voice.temperature"),
    (pb.Voice(endpoint="a", temperature=float("inf")), "voice.temperature")])
async def test_a_voice_that_no_endpoint_could_have_is_named(voice: pb.Voice, field: str) -> None:
    simulation = service(Judges("Hello."))
    session, _ = await created(simulation, words="model")
    with pytest.raises(InvalidField) as refused:
        await simulation.Say(pb.SayRequest(session_id=session, text="Hello?", voice=voice), CALL)
    assert refused.value.field == field


@pytest.mark.parametrize(("user_json", "field"), [
    ('{"goal": {"text": "a", "mood": 1e999}}', "user_json.goal.mood"),
    ('{"goal": {"text": "a\\u0000"}}', "user_json.goal.text")])
async def test_a_value_that_json_alone_can_hold_is_named_in_the_callers_field(user_json: str, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        await service().CreateUser(pb.CreateUserRequest(user_json=user_json), CALL)
    assert refused.value.field == field
