"""A chat completion with the model hone/NAME: one of the candidates answers, by what it achieved on such prompts."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from hone import keys
from hone.client import Client, errors
from hone.client.routing_resources import Decision
from hone.store.database import Database
from tests.integration.gateway import asked
from tests.integration.gateway.asked import AskedStack
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

SORT, ADD = "sort these digits: {} {} {}", "what is the sum of {} and {} plus {}?"
BRIEF: dict[str, Any] = {"max_tokens": 2, "temperature": 0}


@pytest.fixture(scope="module")
def stack(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedStack]:
    with asked.running(postgres, tmp_path_factory.mktemp("routed"), {"HONE_VALUE_EMBEDDER": "hashed"}) as stack:
        yield stack


@pytest.fixture(scope="module")
def key(database: Database) -> str:
    return keys.create(database, "routing").secret


@pytest.fixture(scope="module")
def hone(stack: AskedStack, key: str, tmp_path_factory: pytest.TempPathFactory) -> Client:
    client = stack.hone(key)
    for place, name in enumerate(("cheap", "dear")):
        client.register_model(name, asked.write_model(tmp_path_factory.mktemp(name), place))
    return client


@pytest.fixture(scope="module")
def client(stack: AskedStack, key: str, hone: Client) -> Any:
    assert hone
    return stack.openai(key)


def say(client: Any, model: str, text: str, **more: Any) -> Any:
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **BRIEF, **more)


def questions(form: str, first: int, count: int) -> list[str]:
    return [form.format(number % 10, number // 10 % 10, (3 * number + 1) % 10)
            for number in range(first, first + count)]


def test_a_route_learns_from_feedback_which_model_can_do_what(client: Any, hone: Client) -> None:
    made = hone.put_route("tasks", [{"model": "cheap", "cost": 1}, {"model": "dear", "cost": 8}], target=0.7,
                          exploration=1.0)
    assert (made.objective, made.exploration, made.default) == ({"target": 0.7}, 1.0, False)

    def tried(text: str) -> str:
        answer = say(client, "hone/tasks", text)
        assert answer.model in ("cheap", "dear")
        assert answer.model_extra["route"]["name"] == "tasks"
        able = answer.model == "dear" or text.startswith("sort")
        assert hone.feedback(answer.id, float(able), "checked").score == able
        return str(answer.model)

    with ThreadPoolExecutor(8) as pool:
        asked_for = list(pool.map(tried, questions(SORT, 0, 100) + questions(ADD, 0, 100)))
    assert min(asked_for.count("cheap"), asked_for.count("dear")) > 60, "exploration gives each its outcomes"
    decisions = hone.decisions("tasks", limit=500).data
    assert len(decisions) == 200
    assert all(one.score is not None and one.completion_tokens == 2 and one.prompt_tokens for one in decisions)
    assert {one.propensity for one in decisions} == {0.5}
    hone.put_route("tasks", made_of(made), target=0.7, exploration=0.0)
    learned(client, hone)


def made_of(route: Any) -> list[dict[str, Any]]:
    return [one.model_dump() for one in route.candidates]


def learned(client: Any, hone: Client) -> None:
    """The cheap model gets what it can do, the dear one the rest; a request may ask for something else."""
    until = time.monotonic() + 60
    while say(client, "hone/tasks", ADD.format(1, 2, 3)).model != "dear":
        assert time.monotonic() < until, "feedback counts within seconds"
        time.sleep(0.5)
    for fresh in questions(SORT, 700, 5):
        answer = say(client, "hone/tasks", fresh)
        assert answer.model == "cheap", answer.model_extra["route"]
    for fresh in questions(ADD, 700, 5):
        answer = say(client, "hone/tasks", fresh)
        assert answer.model == "dear", answer.model_extra["route"]
    assert say(client, "hone/tasks", fresh, extra_body={"route": {"max_cost": 2}}).model == "cheap"
    assert say(client, "hone/tasks", fresh, extra_body={"route": {"weight": 0.0}}).model == "cheap"
    newest = hone.decisions("tasks", limit=3).data
    assert [one.objective for one in newest] == [{"weight": 0.0}, {"max_cost": 2.0}, {"target": 0.7}]
    sums: Decision = newest[-1]
    assert "cheapest with a predicted success of at least 0.7" in sums.reason
    by_name = {one.model: one for one in sums.considered}
    assert (by_name["cheap"].p or 0.0) < 0.7 <= (by_name["dear"].p or 0.0)
    assert by_name["cheap"].rows > 50
    assert not by_name["cheap"].doubt
    chunks = list(client.chat.completions.create(
        model="hone/tasks", messages=[{"role": "user", "content": questions(SORT, 800, 1)[0]}], stream=True, **BRIEF))
    assert chunks[0].model == "cheap"
    assert chunks[0].model_extra["route"]["reason"].startswith("cheapest")
    assert hone.decisions("tasks", limit=1).data[0].completion_tokens == 2


def test_a_candidate_that_is_gone_or_cannot_take_a_prompt_is_left_out(
    client: Any, hone: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    hone.register_model("leaving", asked.write_model(tmp_path_factory.mktemp("leaving"), 7))
    hone.put_route("shrinking", [{"model": "leaving", "cost": 1}, {"model": "dear", "cost": 9}], max_cost=1)
    assert say(client, "hone/shrinking", "hello", extra_body={"route": {"exploration": 0}}).model == "leaving"
    hone.delete_model("leaving")
    assert say(client, "hone/shrinking", "hello").model == "dear"
    left_out = {one.model: one.left_out for one in hone.decisions("shrinking", limit=1).data[0].considered}
    assert "does not exist" in left_out["leaving"]
    assert not left_out["dear"]
    with pytest.raises(openai.BadRequestError) as long:
        say(client, "hone/shrinking", "x" * 900)
    assert long.value.code == "context_length_exceeded"
    hone.put_route("shrinking", ["cheap"])
    hone.put_route("gone", ["cheap", "dear"])
    assert hone.delete_route("shrinking").candidates[0].model == "cheap"
    with pytest.raises(errors.NotFound):
        hone.decisions("shrinking")
    with pytest.raises(openai.NotFoundError) as unknown:
        say(client, "hone/shrinking", "hello")
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")


def test_auto_is_there_without_being_set(client: Any, hone: Client) -> None:
    route = hone.route("auto")
    assert route.default
    assert {"cheap", "dear"} <= {one.model for one in route.candidates}
    assert all(one.cost > 0 for one in route.candidates), "parameters, in millions"
    assert say(client, "hone/auto", "hello").model in {one.model for one in route.candidates}
    assert hone.decisions("auto", limit=1).data[0].reason
    hone.put_route("auto", ["dear"], weight=1.0)
    assert not hone.route("auto").default
    assert "auto" in [one.name for one in hone.routes().data]
    assert say(client, "hone/auto", "hello").model == "dear"
    hone.delete_route("auto")


def test_wrong_routes_and_words_are_refused_by_field(client: Any, hone: Client) -> None:
    wrong: list[tuple[list[Any], dict[str, float], str]] = [
        ([], {}, "candidates"), (["nothing"], {}, "candidates[0].model"), (["cheap", "cheap"], {}, "candidates"),
        (["hone/auto"], {}, "candidates[0].model"), (["cheap"], {"weight": 2}, "weight"),
        ([{"model": "cheap", "cost": -1}], {}, "candidates[0].cost"), (["cheap"], {"exploration": 1.5}, "exploration"),
        ([{"model": "cheap", "cost": 1}, "dear"], {}, "candidates"),
        (["cheap"], {"weight": 0.5, "target": 0.5}, "body")]
    for candidates, options, field in wrong:
        with pytest.raises(errors.Refused) as refused:
            hone.put_route("wrong", candidates, **options)
        assert [problem.field for problem in refused.value.problems] == [field], refused.value.problems
    with pytest.raises(errors.NotFound):
        hone.route("wrong")
    answer = say(client, "hone/auto", "hello")
    for score in (1.5, float("nan")):
        with pytest.raises((errors.Refused, ValueError)):
            hone.feedback(answer.id, score)
    with pytest.raises(errors.NotFound):
        hone.feedback("chatcmpl_nothing", 1.0)
    assert hone.feedback(answer.id, 1.0).score == 1.0
    assert hone.feedback(answer.id, 0.0, "on second thought").score == 0.0, "the last word counts"
    with pytest.raises(openai.BadRequestError) as beside:
        say(client, "cheap", "hello", extra_body={"route": {"target": 0.5}})
    assert "route" in str(beside.value)
    with pytest.raises(openai.BadRequestError):
        say(client, "hone/auto", "hello", extra_body={"route": {"target": 0.5, "weight": 0.5}})


def test_another_tenant_sees_no_route_no_decision_and_no_model(
    stack: AskedStack, client: Any, database: Database
) -> None:
    secret = keys.create(database, "other", tenant="others").secret
    stranger, theirs = stack.hone(secret), stack.openai(secret)
    with pytest.raises(openai.NotFoundError):
        say(theirs, "hone/tasks", "hello")
    with pytest.raises(openai.NotFoundError) as nobody:
        say(theirs, "hone/auto", "hello")
    assert "there is no model" in str(nobody.value)
    with pytest.raises(errors.NotFound):
        stranger.feedback(say(client, "hone/tasks", "hello").id, 1.0)
    with pytest.raises(errors.Refused):
        stranger.put_route("theirs", ["cheap"])
    assert stranger.routes().data == []
    with pytest.raises(errors.NotFound):
        stranger.decisions("tasks")


def test_a_route_answers_while_the_value_service_is_away(stack: AskedStack, client: Any, hone: Client) -> None:
    stack.children.stop("value")
    answer = say(client, "hone/tasks", "hello")
    assert answer.model == "cheap"
    assert "the value service does not answer" in hone.decisions("tasks", limit=1).data[0].reason
